import { SluiceError } from "../errors.ts";
import { readBytes } from "../lib/read-bytes.ts";

/**
 * The whole body, or null when there is none. Stops at `maxBytes`: a declared length beyond it is refused unread, an
 * undeclared one as soon as it is passed.
 *
 * Throws `request_too_large`; `client_gone` when the client left meanwhile; `request_invalid` for a body that broke off.
 */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | null> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);
  if (request.body === null) return null;
  const body = await readBytes(request.body, maxBytes).catch((cause: unknown) => {
    throw brokenOff(request, cause);
  });
  if (body === null) throw bodyTooLarge(maxBytes);
  return body;
}

function bodyTooLarge(maxBytes: number): SluiceError {
  return new SluiceError("request_too_large", `The request's body may have at most ${maxBytes} bytes.`, {
    facts: { maxBytes },
  });
}

function brokenOff(request: Request, cause: unknown): SluiceError {
  return request.signal.aborted
    ? new SluiceError("client_gone", "The client left before its request was complete.", { cause })
    : new SluiceError("request_invalid", "The request's body could not be read to its end.", { cause });
}
