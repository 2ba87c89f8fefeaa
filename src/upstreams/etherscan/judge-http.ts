import type { Answer } from "../../engine/protocol.ts";
import { anyOf } from "../../lib/any-of.ts";
import { readHeader } from "../../lib/read-header.ts";
import { retryAfterMs } from "../../lib/retry-after.ts";
import type { Verdict } from "../../ports/verdict.ts";
import { judgeText, say, type TextContext } from "./judge-text.ts";

/** No upstream keeps us away for longer than its day: a larger figure is a mistake of theirs. */
const LONGEST_WAIT_MS = 86_400_000;
/** Cloudflare's rate-limit rules last 10 s at the least. */
const CLOUDFLARE_RATE_MS = 10_000;

const FIREWALL = anyOf(
  /sorry, you have been blocked|attention required! \| cloudflare/,
  /<title>just a moment|checking your browser before/,
  /\berror (code:? ?)?10(0[5-9]|1[0-2]|20)\b/,
);

/** A body that is no JSON: pages of proxies and firewalls, plain text, and nothing at all. */
export function judgePage(body: string, answer: Answer, context: TextContext): Verdict {
  const html = body.startsWith("<") || /html/i.test(readHeader(answer.headers, "content-type") ?? "");
  const page = body.slice(0, 20_000);
  if (/\berror (code:? ?)?1015\b|you are being rate limited/i.test(page)) {
    return { ...say("rate_limited_second", "ip", "cloudflare_rate_limit"), retryAfterMs: CLOUDFLARE_RATE_MS };
  }
  if (isFirewall(page, answer)) return say("network", "ip", "firewall_block");
  if (/^page not found\.?$/i.test(body)) return say("method_unsupported", "upstream", "wrong_base_path");
  const spoken = html ? undefined : judgeProse(body, context);
  if (spoken !== undefined) return spoken;
  if (html && answer.status !== 404 && /maintenance/i.test(page)) return say("overloaded", "upstream", "maintenance");
  if (answer.status !== null && answer.status >= 300) {
    return judgeStatus(answer) ?? say("network", "upstream", "unexpected_status");
  }
  if (body === "") return say("network", "upstream", answer.status === null ? "no_answer" : "empty_body");
  return say("network", "upstream", html ? "html_body" : "unreadable_body");
}

/** Only prose is read (a cut-off JSON may quote anything), and only for refusals: an answer would have an envelope. */
function judgeProse(body: string, context: TextContext): Verdict | undefined {
  if (/^[[{"]/.test(body)) return undefined;
  const spoken = judgeText(body, context);
  return spoken?.class === "ok" || spoken?.class === "caller_fault" ? undefined : spoken;
}

/** What the HTTP status alone says; undefined below 300 and where it says nothing. */
export function judgeStatus(answer: Answer): Verdict | undefined {
  const status = answer.status ?? 0;
  if (status === 429) return { ...say("rate_limited_second", "ip", "http_429"), retryAfterMs: 1000 };
  if (status === 401) return say("key_invalid", "key", "http_401");
  if (status === 402) return say("billing", "key", "http_402");
  if (status === 403 && isJson(answer)) return say("key_forbidden", "key", "http_403");
  if (status === 403) return say("network", "ip", "firewall_block");
  if (status === 404 || status === 410) return say("method_unsupported", "upstream", "wrong_base_path");
  // Some clones take GET alone: the caller's to know, and nothing against the base URL.
  if (status === 405) return say("method_unsupported", "request", "http_method");
  if (status === 413 || status === 414 || status === 431) return say("request_too_large", "request", "too_large");
  if (status === 400 || status === 422) return say("caller_fault", "request", "bad_request");
  if (status === 503 || status === 529) return say("overloaded", "upstream", "http_503");
  if (status >= 500 || status === 408) return say("network", "upstream", "http_5xx");
  if (status >= 300 && status < 400) return say("method_unsupported", "upstream", "redirected");
  return undefined;
}

/** Adds to a refusal what the answer says beside its sentence: how long to wait, and whether the day is spent. */
export function withHeaders(verdict: Verdict, answer: Answer): Verdict {
  if (!/^rate_limited|^overloaded$/.test(verdict.class)) return verdict;
  const routescan = answer.status === 429 ? routescanWait(answer) : undefined;
  if (routescan !== undefined) return routescan;
  const wait = waitOf(answer) ?? (verdict.class === "rate_limited_daily" ? statedReset(answer) : undefined);
  return wait === undefined ? verdict : { ...verdict, retryAfterMs: Math.min(wait, LONGEST_WAIT_MS) };
}

/** `Resets 2026-09-01 12:00:00 UTC`, measured from the answer's own `Date`. */
function statedReset(answer: Answer): number | undefined {
  const stated = /resets (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) utc/i.exec(answer.body.slice(0, 2000));
  const left = Date.parse(`${stated?.[1]}T${stated?.[2]}Z`) - Date.parse(readHeader(answer.headers, "date") ?? "");
  return left > 0 ? left : undefined;
}

/** `x-ratelimit-reset` is Blockscout's: milliseconds left, though others write epochs, which we then read as such. */
function waitOf(answer: Answer): number | undefined {
  const date = readHeader(answer.headers, "date");
  const asked = retryAfterMs(readHeader(answer.headers, "retry-after"), date);
  if (asked !== undefined) return asked;
  const reset = Number(readHeader(answer.headers, "x-ratelimit-reset") ?? Number.NaN);
  if (!(reset >= 0)) return undefined;
  if (reset < 1e9) return reset;
  const left = (reset < 1e12 ? reset * 1000 : reset) - Date.parse(date ?? "");
  return Number.isFinite(left) ? Math.max(0, left) : undefined;
}

/** Routescan counts per minute and per day and says which one is spent; its resets are in seconds. */
function routescanWait(answer: Answer): Verdict | undefined {
  const windows = [
    ["rpd", say("rate_limited_daily", "account", "daily_quota")],
    ["rpm", say("rate_limited_second", "key", "per_minute_limit")],
  ] as const;
  for (const [window, verdict] of windows) {
    if (readHeader(answer.headers, `x-ratelimit-${window}-remaining`) !== "0") continue;
    const reset = Number(readHeader(answer.headers, `x-ratelimit-${window}-reset`) ?? Number.NaN);
    return reset >= 0 ? { ...verdict, retryAfterMs: Math.min(reset * 1000, LONGEST_WAIT_MS) } : verdict;
  }
  return undefined;
}

function isFirewall(page: string, answer: Answer): boolean {
  return readHeader(answer.headers, "cf-mitigated") !== null || FIREWALL.test(page);
}

function isJson(answer: Answer): boolean {
  return /^\s*\{/.test(answer.body.slice(0, 20));
}
