/** What an answer means, whatever the protocol. */
export type VerdictClass =
  | "ok"
  | "rate_limited_second"
  | "rate_limited_daily"
  | "key_invalid"
  | "key_forbidden"
  | "billing"
  | "overloaded"
  | "network"
  | "node_lagging"
  | "range_too_large"
  | "method_unsupported"
  | "caller_fault"
  | "tx_known"
  | "request_too_large"
  | "content_policy";

type Holder = "key" | "account" | "ip" | "node" | "upstream" | "sender";
/** What the verdict speaks of: the one request, or every request of a holder (or of a holder with that chain, method …). */
export type VerdictScope = "request" | Holder | `${Holder}+${"method" | "chain" | "model" | "archive" | "batch"}`;

/** The meaning of one upstream answer. */
export interface Verdict {
  readonly class: VerdictClass;
  readonly scope: VerdictScope;
  /** A short machine word for logs and stats (`per_second_limit`, `html_body` …). Never upstream text. */
  readonly reason: string;
  /** How long the upstream asks us to stay away, in milliseconds. */
  readonly retryAfterMs?: number;
  /** The ceiling that the upstream stated, in calls per second. */
  readonly observedLimit?: number;
}
