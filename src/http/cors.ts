/** Which web pages may read answers. `"*"` lets every page read; it does not let foreign pages in where the loopback rule stands. */
export interface CorsOption {
  readonly origins: readonly string[] | "*";
}

const EXPOSED = "X-Request-ID, X-Sluice-Trace, Retry-After";
const USUAL_HEADERS = "Authorization, Content-Type, X-API-Key, X-Request-ID, X-Sluice-Trace, X-Sluice-Priority";
const HEADER_LIST = /^[\w\s,-]{1,2048}$/;

/** Adds what a browser needs to see before it lets a page of an allowed origin read the answer. */
export function addCorsHeaders(headers: Headers, cors: CorsOption, origin: string | null): void {
  const allowed = allowedOrigin(cors, origin);
  if (cors.origins !== "*") headers.append("vary", "Origin");
  if (allowed === null) return;
  headers.set("access-control-allow-origin", allowed);
  headers.set("access-control-expose-headers", EXPOSED);
}

/** Answers a preflight: 204, with the permissions where the origin is allowed and without them where it is not. The router adds the rest. */
export function preflight(cors: CorsOption, request: Request): Response {
  const headers = new Headers();
  if (allowedOrigin(cors, request.headers.get("origin")) !== null) {
    const wanted = request.headers.get("access-control-request-headers");
    headers.set("access-control-allow-methods", "GET, HEAD, POST");
    // SDKs send headers of their own; any will do, since none of them is ever trusted.
    headers.set("access-control-allow-headers", wanted !== null && HEADER_LIST.test(wanted) ? wanted : USUAL_HEADERS);
    headers.set("access-control-max-age", "600");
  }
  return new Response(null, { status: 204, headers });
}

function allowedOrigin(cors: CorsOption, origin: string | null): string | null {
  if (cors.origins === "*") return "*";
  return origin !== null && cors.origins.includes(origin) ? origin : null;
}
