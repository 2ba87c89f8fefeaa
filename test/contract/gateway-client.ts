import { onTestFinished } from "vitest";
import type { UpstreamStats } from "../../src/index.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

/** A gateway that runs somewhere, as a platform's own test starts it. */
export interface RunningGateway {
  /** Origin without a slash at the end. */
  readonly url: string;
  /** Ends it as its platform does. */
  stop(): Promise<unknown>;
  /** Ends it without a warning, where the platform can. */
  kill?(): Promise<unknown>;
}

export type StartGateway = (env: Readonly<Record<string, string>>) => Promise<RunningGateway>;

/** A gateway and a client that is let in. */
export interface GatewayClient {
  readonly url: string;
  /** The headers that let this client in; none where its being local is enough. */
  readonly pass: Readonly<Record<string, string>>;
  /** `fetch` below the gateway's origin, never following a redirect. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  stats(): Promise<UpstreamStats>;
}

export type OpenGateway = (env?: Readonly<Record<string, string>>) => Promise<GatewayClient>;

export const CALLER_TOKEN = "contract-caller-0a1b2c3d4e5f";
export const OPERATOR_TOKEN = "contract-operator-0a1b2c3d4e5f";
registerSecrets(CALLER_TOKEN, OPERATOR_TOKEN);

/** Both tokens are in force, so that only who shows one is let in. */
export const GUARDED = { SLUICE_TOKENS: CALLER_TOKEN, SLUICE_ADMIN_TOKEN: OPERATOR_TOKEN } as const;

/** Starts gateways that end with their test. Where a platform cannot see who calls, clients show the operator's token. */
export function createOpener(start: StartGateway, seesPeers: boolean): OpenGateway {
  return async (env = {}) => {
    const gateway = await start(seesPeers ? env : { ...GUARDED, ...env });
    onTestFinished(async () => void (await gateway.stop()));
    const pass = seesPeers && env["SLUICE_ADMIN_TOKEN"] === undefined ? {} : bearer(OPERATOR_TOKEN);
    return {
      url: gateway.url,
      pass,
      ask: (path, init = {}) =>
        fetch(gateway.url + path, { redirect: "manual", ...init, headers: { ...pass, ...plain(init.headers) } }),
      async stats() {
        const answer = await fetch(`${gateway.url}/-/stats`, { headers: pass });
        const { upstreams } = (await answer.json()) as { upstreams: UpstreamStats[] };
        const [first] = upstreams;
        if (first === undefined) throw new Error("the gateway has no upstream");
        return first;
      },
    };
  };
}

export function bearer(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` };
}

/** Etherscan's envelope around our own error: its sentence. Fails the test for any other form. */
export async function refusalOf(answer: Response): Promise<string> {
  const envelope = (await answer.json()) as { status?: unknown; message?: unknown; result?: unknown };
  if (envelope.status !== "0" || envelope.message !== "NOTOK" || typeof envelope.result !== "string") {
    throw new Error(`not an explorer's refusal: ${JSON.stringify(envelope)}`);
  }
  return envelope.result;
}

export interface ProblemDocument {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly requestId?: string;
  readonly [fact: string]: unknown;
}

/** The problem document of an answer. Fails the test for any other media type. */
export async function problemOf(answer: Response): Promise<ProblemDocument> {
  const type = answer.headers.get("content-type");
  if (type !== "application/problem+json") throw new Error(`not a problem document but ${type}`);
  return (await answer.json()) as ProblemDocument;
}

function plain(headers: RequestInit["headers"]): Record<string, string> {
  return Object.fromEntries(new Headers(headers));
}

let calls = 0;

/** A balance call for an address that no call before has asked for. */
export function balancePath(more = ""): string {
  const address = `0x${(++calls).toString(16).padStart(40, "0")}`;
  return `/etherscan/v2/api?chainid=1&module=account&action=balance&address=${address}${more}`;
}
