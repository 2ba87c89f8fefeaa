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
  let timedOut = false;
  const leave = () => abort.abort();
  const cancelTimer = clock.after(timeoutMs, () => {
    timedOut = true;
    abort.abort();
  });
  signal?.addEventListener("abort", leave, { once: true });
  try {
    // Not AbortSignal.any: Vercel's edge runtime has none.
    const response = await transport(new Request(request, { signal: abort.signal }));
    const body = await readBounded(response, maxResponseBytes, abort.signal);
    if (body === null) {
      abort.abort();
      return { kind: "too_large" };
    }
    return { kind: "answer", status: response.status, headers: response.headers, body };
  } catch {
    if (signal?.aborted) return { kind: "client_gone" };
    return { kind: "fault", reason: timedOut ? "timeout" : "network" };
  } finally {
    cancelTimer();
    signal?.removeEventListener("abort", leave);
  }
}

/** The body, or null when it is larger than `max`. */
async function readBounded(
  response: Response,
  max: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const declared = Number(response.headers.get("content-length") ?? 0);
  if (declared > max) return null;
  if (response.body === null) return new Uint8Array();
  // A declared length bounds the read only where nothing is decoded on the way.
  if (declared > 0 && !response.headers.has("content-encoding")) return new Uint8Array(await response.arrayBuffer());
  const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > max) {
      cancel();
      return null;
    }
    chunks.push(value);
  }
  signal.removeEventListener("abort", cancel);
  signal.throwIfAborted();
  const [only] = chunks;
  if (chunks.length === 1 && only !== undefined) return only;
  const body = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return body;
}
