import type { Verdict } from "../ports/verdict.ts";

export type Priority = "critical" | "interactive" | "batch";

export interface CallOptions {
  /** Aborting it takes the call out of the queue, or aborts the upstream request, and frees all it held. */
  readonly signal?: AbortSignal | undefined;
  readonly priority?: Priority | undefined;
}

/** One try of a call on one target, as the key-free decision trace tells it. */
export interface AttemptTrace {
  readonly target: string;
  readonly waitedMs: number;
  readonly tookMs: number;
  readonly status: number | null;
  readonly class: Verdict["class"];
  readonly reason: string;
}

/** The upstream's answer as it came, and how it was had. */
export interface CallResult {
  readonly status: number;
  /** The upstream's headers without hop-by-hop ones; `content-encoding` and `content-length` are gone too, since the body is decoded. */
  readonly headers: Headers;
  /** Byte for byte what the upstream sent, decoded from any content encoding. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly verdict: Verdict;
  readonly attempts: readonly AttemptTrace[];
}
