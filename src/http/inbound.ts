import { CREDENTIAL_HEADERS } from "../callers/credentials.ts";
import type { InboundRequest } from "../engine/protocol.ts";

/**
 * A client's request as a protocol sees it, without the credentials that were meant for us.
 * The copy of the headers is made when a protocol looks at them: most calls are told by their URL alone.
 */
export class Inbound implements InboundRequest {
  readonly method: string;
  readonly url: URL;
  readonly body: Uint8Array<ArrayBuffer> | null;
  readonly #request: Request;
  #headers: Headers | undefined;

  constructor(request: Request, url: URL, body: Uint8Array<ArrayBuffer> | null = null) {
    this.method = request.method;
    this.url = url;
    this.body = body;
    this.#request = request;
  }

  get headers(): Headers {
    if (this.#headers === undefined) {
      this.#headers = new Headers(this.#request.headers);
      for (const name of CREDENTIAL_HEADERS) this.#headers.delete(name);
    }
    return this.#headers;
  }
}
