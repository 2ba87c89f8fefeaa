import type { SluiceError, SluiceErrorCode } from "../errors.ts";

const TITLES: Record<SluiceErrorCode, string> = {
  config_invalid: "The configuration is invalid",
  upstream_not_configured: "The upstream is not configured",
  callers_not_configured: "No callers are configured",
  caller_unknown: "The caller is unknown",
  forbidden_origin: "The origin is forbidden",
  admin_only: "For the operator only",
  route_unknown: "There is no such route",
  method_not_allowed: "The method is not allowed",
  request_invalid: "The request is invalid",
  request_too_large: "The request is too large",
  queue_full: "The queue is full",
  wait_too_long: "The wait is too long",
  pool_exhausted: "No target can serve",
  upstream_failed: "The upstream failed",
  client_gone: "The client is gone",
  closed: "The gateway is closing",
  internal: "The gateway failed",
};

/**
 * An error as a problem document (RFC 9457). `type` is the error's section in the documentation; the error's facts are
 * members beside the standard ones, and never replace them.
 */
export function problem(error: SluiceError, requestId: string): Response {
  const document = {
    ...error.facts,
    type: `docs/${error.docs}`,
    title: TITLES[error.code],
    status: error.status,
    detail: error.message,
    code: error.code,
    ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: Math.ceil(error.retryAfterMs) }),
    requestId,
  };
  const response = new Response(JSON.stringify(document), {
    status: error.status,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store" },
  });
  addErrorHeaders(response.headers, error);
  return response;
}

/** The headers that HTTP itself wants beside an error, whatever the body's form. Keeps those that are there already. */
export function addErrorHeaders(headers: Headers, error: SluiceError): void {
  if (error.retryAfterMs !== undefined && !headers.has("retry-after")) {
    headers.set("retry-after", String(Math.max(1, Math.ceil(error.retryAfterMs / 1000))));
  }
  if (error.status === 401 && !headers.has("www-authenticate")) {
    headers.set("www-authenticate", 'Bearer realm="sluice"');
  }
  const { allow } = error.facts;
  if (error.code === "method_not_allowed" && Array.isArray(allow) && !headers.has("allow")) {
    headers.set("allow", allow.join(", "));
  }
}
