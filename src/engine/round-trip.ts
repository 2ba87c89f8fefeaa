import { readBytes } from "../lib/read-bytes.ts";
import type { Clock } from "../ports/clock.ts";
import type { Transport } from "../ports/transport.ts";

export interface RoundTripOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** The client's own signal. */
  readonly signal?: AbortSignal | undefined;
}

/** What came back: a whole answer, or why there is none. */
export type RoundTrip =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers: Headers;
      readonly body: Uint8Array<ArrayBuffer>;
    }
  | { readonly kind: "too_large" }
  | { readonly kind: "fault"; readonly reason: "network" | "timeout" }
  | { readonly kind: "client_gone" };

/**
 * Sends one request and reads the whole answer, within a time and a size. Never throws: what `fetch` throws carries the
 * URL, and the URL carries the key.
 */
export async function roundTrip(request: Request, options: RoundTripOptions): Promise<RoundTrip> {
  const { transport, clock, timeoutMs, maxResponseBytes, signal } = options;
  const abort = new AbortController();
  // A transport that does not listen to its signal must not hold the call: its end is decided here. Not
  // AbortSignal.any: Vercel's edge runtime has none.
  let end: (trip: RoundTrip) => void = () => {};
  const ended = new Promise<RoundTrip>((resolve) => (end = resolve));
  const leave = () => end({ kind: "client_gone" });
  const cancelTimer = clock.after(timeoutMs, () => end({ kind: "fault", reason: "timeout" }));
  signal?.addEventListener("abort", leave, { once: true });
  try {
    const sent = send(request, abort.signal, transport, maxResponseBytes);
    const trip = await Promise.race([sent, ended]);
    // An answer was read to its end: to abort it has no effect, but costs as much as all the rest here.
    if (trip.kind !== "answer") abort.abort();
    return trip;
  } finally {
    cancelTimer();
    signal?.removeEventListener("abort", leave);
  }
}

async function send(
  request: Request,
  signal: AbortSignal,
  transport: Transport,
  maxResponseBytes: number,
): Promise<RoundTrip> {
  try {
    const response = await transport(request, { signal });
    const body = await readBounded(response, maxResponseBytes);
    if (body === null) return { kind: "too_large" };
    return { kind: "answer", status: response.status, headers: response.headers, body };
  } catch {
    return { kind: "fault", reason: "network" };
  }
}

/** The body, or null when it is larger than `max`. */
async function readBounded(response: Response, max: number): Promise<Uint8Array<ArrayBuffer> | null> {
  const declared = Number(response.headers.get("content-length") ?? 0);
  if (declared > max) return null;
  // A declared length bounds the read only where nothing is decoded on the way. `body` is not looked at before it is
  // needed: that alone makes a stream of it.
  const isBounded = declared > 0 && !response.headers.has("content-encoding");
  if (isBounded) return new Uint8Array(await response.arrayBuffer());
  return response.body === null ? new Uint8Array() : readBytes(response.body, max);
}
