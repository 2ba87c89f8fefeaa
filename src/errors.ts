/** The machine words of our own errors; each has a section of that name in docs/errors.md. */
export type SluiceErrorCode =
  | "config_invalid"
  | "upstream_not_configured"
  | "callers_not_configured"
  | "caller_unknown"
  | "forbidden_origin"
  | "admin_only"
  | "route_unknown"
  | "method_not_allowed"
  | "request_invalid"
  | "request_too_large"
  | "queue_full"
  | "wait_too_long"
  | "pool_exhausted"
  | "upstream_failed"
  | "client_gone"
  | "closed"
  | "internal";

const STATUS: Record<SluiceErrorCode, number> = {
  config_invalid: 500,
  upstream_not_configured: 503,
  callers_not_configured: 503,
  caller_unknown: 401,
  forbidden_origin: 403,
  admin_only: 401,
  route_unknown: 404,
  method_not_allowed: 405,
  request_invalid: 400,
  request_too_large: 413,
  queue_full: 429,
  wait_too_long: 503,
  pool_exhausted: 503,
  upstream_failed: 502,
  client_gone: 499,
  closed: 503,
  internal: 500,
};

export interface SluiceErrorOptions {
  /** When trying again is worth while, in milliseconds from now; absent where waiting does not help. */
  readonly retryAfterMs?: number;
  /** The HTTP status, where the code's own does not fit (504 for a time-out). */
  readonly status?: number;
  /** Facts for machines; must hold no secret. */
  readonly facts?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/**
 * Every error the kit throws. The message is one short sentence that says what to do; it and the facts hold no secret.
 */
export class SluiceError extends Error {
  override readonly name = "SluiceError";
  readonly code: SluiceErrorCode;
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(code: SluiceErrorCode, message: string, options: SluiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? STATUS[code];
    this.retryAfterMs = options.retryAfterMs;
    this.facts = options.facts ?? {};
  }

  /** Where the documentation explains this error, relative to the docs root. */
  get docs(): string {
    return `errors.md#${this.code}`;
  }
}
