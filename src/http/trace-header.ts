import type { AttemptTrace } from "../engine/call.ts";

const MAX_LENGTH = 2048;

/**
 * The decision trace as a header's value: compact JSON of at most 2 KB in visible ASCII, without a secret (targets go by
 * their fingerprints). When it would be longer the earliest attempts are left out and counted in `omitted`: the last
 * ones explain the answer.
 *
 * @example `{"upstream":"etherscan","attempts":[{"target":"5d1f…","waitedMs":0,"tookMs":41,"status":200,"class":"ok","reason":"ok"}]}`
 */
export function traceHeader(upstream: string, attempts: readonly AttemptTrace[]): string {
  let length = JSON.stringify({ upstream, attempts: [], omitted: attempts.length }).length;
  const kept: string[] = [];
  for (let i = attempts.length - 1; i >= 0; i--) {
    const attempt = attempts[i];
    if (attempt === undefined) break;
    const text = toAscii(JSON.stringify(compact(attempt)));
    length += text.length + 1;
    if (length > MAX_LENGTH) break;
    kept.unshift(text);
  }
  const omitted = attempts.length - kept.length;
  return `{"upstream":${toAscii(JSON.stringify(upstream))},"attempts":[${kept.join(",")}]${omitted > 0 ? `,"omitted":${omitted}` : ""}}`;
}

function compact({ target, waitedMs, tookMs, status, class: verdict, reason }: AttemptTrace): AttemptTrace {
  return { target, waitedMs: Math.round(waitedMs), tookMs: Math.round(tookMs), status, class: verdict, reason };
}

function toAscii(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
