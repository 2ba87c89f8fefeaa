import { anyOf } from "../../lib/any-of.ts";
import { plainText } from "../../lib/plain-text.ts";
import type { Verdict, VerdictClass, VerdictScope } from "../../ports/verdict.ts";

/** What a rule may look at beside the text. */
export interface TextContext {
  /** HTTP status, null where it is unknown. */
  readonly status: number | null;
  readonly request: Readonly<Record<string, unknown>>;
}

interface Rule {
  readonly when: RegExp;
  /** A word that the text must have too. */
  readonly and?: RegExp;
  /** A text that matches this too belongs to another rule. */
  readonly unless?: RegExp;
  /** Answers and caller faults: a word like `invalid` in a 502 says nothing about the caller. */
  readonly weak?: boolean;
  readonly means: (text: string, context: TextContext) => Verdict;
}

/** Nothing but an answer is longer; a refusal is a sentence or two. */
const LONGEST_REFUSAL = 1000;
/** Etherscan counts whole seconds, so a second is how long its per-second refusals last. */
const SECOND_MS = 1000;
/** docs.etherscan.io/common-error-messages: five invalid keys within 30 s throttle the source IP for 30 s. */
const KEY_ATTEMPTS_MS = 30_000;

const STATED_LIMIT = /(\d+(?:\.\d+)?) *(?:calls?|requests?)? *(?:\/|per) *(\d+(?:\.\d+)?)? *s(?:ec(?:ond)?s?)?\b/i;
const RATE = anyOf(/rate[ -]?limit|rate exceeded|max calls|calls per sec/, /throttl|limit reached|slow down/);

/**
 * Upstream sentences and what they mean, the first match counts. The order is the substance, for refusals quote each
 * other's words: `Max daily rate limit`, `invalid API key … rate limit applied`, `temporarily unavailable … upgrade`.
 */
const RULES: readonly Rule[] = [
  // Verification results quote compiler and contract text, so they come before anything that reads words.
  {
    when: /^(fail|pass) - |^pending in queue|^in progress$/i,
    weak: true,
    means: always("ok", "request", "verification"),
  },
  {
    when: /source ?code (is )?not (yet )?verified|^contract (is )?not verified/i,
    weak: true,
    means: always("ok", "request", "not_verified"),
  },
  { when: /already[ -](been )?verified/i, weak: true, means: always("ok", "request", "already_verified") },
  { when: /block number already pass/i, weak: true, means: always("ok", "request", "countdown_over") },
  { when: /^(error! )?no\b[\w\s/-]*\bfound\b/i, weak: true, means: always("ok", "request", "nothing_found") },

  {
    when: /too many invalid (api ?)?keys?/i,
    means: () => ({ ...say("rate_limited_second", "ip", "invalid_key_attempts"), retryAfterMs: KEY_ATTEMPTS_MS }),
  },
  {
    when: /daily limit of .*submissions/i,
    means: always("rate_limited_daily", "account+method", "daily_submissions"),
  },
  // A pool that all free users of some chains share, with its own reset: other chains of the account go on.
  { when: /community free api limit/i, means: always("rate_limited_daily", "account+chain", "community_quota") },
  {
    when: /\b(daily|monthly)\b|per (day|month)|\bday\/limit|\/ ?day\b|24[ -]?h|usage limit/i,
    and: /reach|exceed|exhaust|used up|spent|over\b/i,
    means: always("rate_limited_daily", "account", "daily_quota"),
  },
  {
    when: anyOf(/deprecated v1|switch to (etherscan )?api v2/, /v1 (endpoint|api)\b.*\b(deprecated|disabled|sunset)/),
    unless: RATE,
    means: always("method_unsupported", "upstream", "v1_retired"),
  },
  { when: /free api access is temporarily/i, means: always("overloaded", "account", "free_tier_shed") },
  {
    when: anyOf(
      /temporarily unavailable|too busy|overloaded|maintenance/,
      /(server|service|system) (is )?(currently )?(busy|unavailable)/,
    ),
    means: always("overloaded", "upstream", "busy"),
  },
  {
    when: anyOf(
      /(missing|invalid|unknown|incorrect|wrong|unrecogni[sz]ed)\W+api[ _-]?(key|token)/,
      /api[ _-]?(key|token)\b.{0,40}\b(invalid|missing|required|not (found|valid|recogni[sz]ed|exist\w*))\b/,
      /api[ _-]?(key|token)\b.{0,40}\b(suspended|expired|disabled|revoked|banned|blocked|(not |de|in)activ\w*)\b/,
      /\b(account|user)\b.{0,30}\b(suspended|disabled|banned)\b/,
    ),
    means: always("key_invalid", "key", "key_rejected"),
  },
  {
    when: anyOf(
      /insufficient credits?|credits? (are |is )?(exhausted|depleted)/,
      /payment (is )?(required|overdue)|(subscription|plan) (has )?(expired|lapsed)/,
    ),
    means: always("billing", "account", "unpaid"),
  },
  // Blockscout's sentence, and that of gateways: both count addresses.
  {
    when: /too many (requests|calls)/i,
    means: (text) => ({ ...perSecond(text), scope: "ip", reason: "too_many_requests" }),
  },
  { when: RATE, means: perSecond },
  {
    when: anyOf(
      /free api access is not|api pro\b|pro endpoint/,
      /\b(upgrade|subscribe)\b.*\b(plan|tier|pro)\b|\bpaid (plan|tier|subscription)/,
      /not (eligible|available|included|supported).*\b(endpoint|plan|tier)\b/,
    ),
    means: (text) =>
      /\b(chain|network)s?\b/i.test(text)
        ? say("key_forbidden", "key+chain", "chain_not_in_plan")
        : say("key_forbidden", "key+method", "method_not_in_plan"),
  },
  {
    when: /chain ?id|(chain|network) (is )?(not supported|unsupported)|unsupported (chain|network)/i,
    means: unknownChain,
  },
  {
    when: anyOf(
      /query time-?out|smaller (result|range)|result window|too many (results|records|blocks|logs)/,
      /\branges? (is )?(too|over|exceed|limit)|limited to .*\brange\b|exceeds? limit of \d/,
      /(result|response) (size )?(is )?(too (large|big)|exceeded|should not)|number of requested blocks/,
    ),
    means: always("range_too_large", "request", "range_or_window"),
  },
  {
    when: anyOf(
      /not (yet )?(been )?(processed|indexed|synced)/,
      /still (syncing|indexing)|being indexed|indexing (is )?in progress/,
    ),
    means: always("node_lagging", "upstream", "index_behind"),
  },
  {
    when: anyOf(
      /something went wrong|internal (server )?error|other exception|unexpected (err|error|exception)\b/,
      /unknown error|server error|bad gateway|time-?out|timed out/,
      /upstream connect error|connection (reset|refused|failure)/,
    ),
    means: always("network", "upstream", "internal_error"),
  },
  { when: /try again|please retry/i, means: always("overloaded", "upstream", "try_again") },
  { when: /^error!/i, means: always("caller_fault", "request", "request_rejected") },
  {
    when: anyOf(/invalid|missing|required|must (be|have)|malformed/, /unknown (action|module|method)|unable to locate/),
    weak: true,
    means: always("caller_fault", "request", "request_rejected"),
  },
];

/** What one sentence of an explorer means; undefined for a sentence that no rule knows. */
export function judgeText(text: string, context: TextContext): Verdict | undefined {
  if (text.length > LONGEST_REFUSAL) return undefined;
  const weakToo = isCallersStatus(context.status);
  for (const rule of RULES) {
    if (rule.weak === true && !weakToo) continue;
    if (!rule.when.test(text) || rule.and?.test(text) === false || rule.unless?.test(text) === true) continue;
    return rule.means(text, context);
  }
  return undefined;
}

/** Builds a verdict without its optional fields. */
export function say(name: VerdictClass, scope: VerdictScope, reason: string): Verdict {
  return { class: name, scope, reason };
}

function always(name: VerdictClass, scope: VerdictScope, reason: string): () => Verdict {
  return () => say(name, scope, reason);
}

/** Statuses under which a body may be an answer, or a complaint about the request. */
function isCallersStatus(status: number | null): boolean {
  return status === null || status <= 400 || status === 404 || status === 422;
}

/**
 * A stated ceiling is the account's. With the advert for V2 it is only the throttle of the dying V1 endpoint, and
 * without a number nobody says what is counted: both speak of the key at hand.
 */
function perSecond(text: string): Verdict {
  const limit = statedLimit(text);
  const base = { ...say("rate_limited_second", "key", "per_second_limit"), retryAfterMs: SECOND_MS };
  if (limit === undefined) return base;
  return { ...base, scope: /api v2/i.test(text) ? "key" : "account", observedLimit: limit };
}

/** `(3/sec)` = 3, `1/5sec` = 0.2, `5 calls per second` = 5. */
function statedLimit(text: string): number | undefined {
  const match = STATED_LIMIT.exec(text);
  if (match === null) return undefined;
  const limit = Number(match[1]) / Number(match[2] ?? 1);
  return Number.isFinite(limit) && limit > 0 ? limit : undefined;
}

/** `420,10` or `mainnet` is the caller's mistake; a well-formed id is one that this upstream does not serve. */
function unknownChain(_text: string, { request }: TextContext): Verdict {
  const given = request["chainid"];
  if (given === undefined || given === null || given === "") return say("caller_fault", "request", "chain_missing");
  const wellFormed = /^\d+$/.test(plainText(given));
  return wellFormed
    ? say("method_unsupported", "upstream+chain", "chain_unknown")
    : say("caller_fault", "request", "chain_malformed");
}
