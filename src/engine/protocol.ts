import type { SluiceError } from "../errors.ts";
import type { Verdict } from "../ports/verdict.ts";
import type { CallOptions, CallResult } from "./call.ts";
import type { Target } from "./target.ts";

/** An upstream's answer as a judge sees it. `status` is null when there was none (connection refused, reset, time-out). */
export interface Answer {
  readonly status: number | null;
  readonly headers: Headers | Readonly<Record<string, string>>;
  /** The body as text; an empty string when there was none. */
  readonly body: string;
}

/** A route that a protocol brings: a path below the upstream's own prefix (`/v2/api`), and how a request there becomes a call. */
export interface ProtocolRoute<Call> {
  readonly methods: readonly string[];
  /** itty-router syntax, appended to `/<upstream name>`. */
  readonly path: string;
  /** Throws a SluiceError for a request that cannot be a call. The body is at most the gateway's limit. */
  parse(request: InboundRequest): Call;
}

/** A client's request, with its body already read (and bounded) by the gateway. */
export interface InboundRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer> | null;
}

/**
 * What the kit knows of a kind of API. Plain functions over plain data; no state, no I/O.
 * A protocol that is not imported is not in the bundle.
 */
export interface Protocol<Call = unknown, Face extends object = object> {
  readonly name: string;
  readonly routes: readonly ProtocolRoute<Call>[];
  /** The request to send: the call with the target's credential, and none of the client's. */
  attach(call: Call, target: Target): Request;
  /** Units that the call costs in the upstream's own count; 1 where calls are counted. */
  weigh(call: Call): number;
  /** What differs between targets for this call (`chain:8453`, `method:stats.dailytx`), most general first. */
  needs(call: Call): readonly string[];
  /** The facts of a call that `judge` reads. */
  facts(call: Call): Readonly<Record<string, unknown>>;
  /** What the answer means. Never throws. */
  judge(answer: Answer, request: Readonly<Record<string, unknown>>): Verdict;
  /** Our own error in the protocol's form, so that unmodified clients understand it. */
  refuse(error: SluiceError): Response;
  /** A caller's token in the place where this protocol's clients put their key; null when there is none. */
  callerToken?(request: InboundRequest): string | null;
  /** What `sluice.upstream(name)` offers beside the common members, in process, without an HTTP hop. */
  face(send: (call: Call, options?: CallOptions) => Promise<CallResult>): Face;
}

/** Types a protocol of one's own. */
export function defineProtocol<Call, Face extends object>(protocol: Protocol<Call, Face>): Protocol<Call, Face> {
  return protocol;
}
