import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { SluiceError } from "../../src/index.ts";

/** How long the rest of a refused request is read and thrown away: closing at once would reset the answer too. */
const DRAIN_MS = 2_000;

/** Answers a request that Node could not parse (an over-long URL or header) with a problem document, then hangs up. */
export function refuseUnparsed(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (socket.destroyed || !socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const tooLong = error.code === "HPE_HEADER_OVERFLOW";
  const refusal = tooLong
    ? new SluiceError("request_too_large", "The URL or a header is too long; send long parameters as a POST form.", {
        status: 431,
      })
    : new SluiceError("request_invalid", "This is not an HTTP request that can be read.");
  const body = JSON.stringify({
    type: `docs/${refusal.docs}`,
    title: STATUS_CODES[refusal.status],
    status: refusal.status,
    detail: refusal.message,
    code: refusal.code,
  });
  socket.removeAllListeners("data");
  socket.on("data", () => {});
  socket.on("error", () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), DRAIN_MS).unref();
}
