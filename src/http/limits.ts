/** Bounds on what a client may hand in or hold. */
export interface HandlerLimits {
  /** Largest request body, in bytes. */
  readonly maxRequestBytes: number;
  /** Longest URL, in characters. */
  readonly maxUrlBytes: number;
  /** Clients that may follow `/-/events` at once. */
  readonly maxEventStreams: number;
}

export const DEFAULT_LIMITS: HandlerLimits = {
  maxRequestBytes: 4 * 1024 * 1024,
  maxUrlBytes: 64 * 1024,
  maxEventStreams: 32,
};
