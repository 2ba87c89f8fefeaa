import { fingerprint } from "./fingerprint.ts";

// Every repetition that can fail late is bounded: an error's text may come from outside, and must not cost quadratic time.
const NAMED_VALUE =
  /\b((?:x[-_])?(?:api|access|auth|secret|private)?[-_]?(?:key|token|secret|password|signature))(\s?=\s?)(?!\[)([^&\s"'<>]+)/gi;
const CREDENTIAL_HEADER =
  /\b((?:proxy-)?authorization\s{0,4}["']?\s{0,4}[:=]\s{0,4}["']?(?:(?:bearer|basic)\s{1,4})?|x-api-key\s{0,4}["']?\s{0,4}:\s{0,4}["']?)(?!\[)([^\s"'<>,;]{8,})/gi;
const BEARER = /\b(bearer\s{1,4})(?!\[)([^\s"'<>,;]{16,})/gi;
const URL_IN_TEXT = /\b([a-z][a-z0-9+.-]{0,20}):\\?\/\\?\/([^\s/?#"'<>`\\]*)([^\s"'<>`]*)/gi;
const PUNCTUATION = "),.;:!}";

/**
 * Makes a function that takes secrets out of a text meant for people: errors, logs, reports.
 *
 * Every secret in `secrets`, as it is or encoded for a URL or JSON, in any case, becomes `[<fingerprint>]`. Whatever
 * else looks like one goes too: URLs are cut to their origin (RPC providers put keys in the path; `fetch` and viem put
 * the whole URL in their messages), `apikey=…`, `token=…` and the like lose their value, and so do credential headers.
 * Idempotent.
 *
 * @example
 * ```ts
 * import { createRedactor } from "@sluice/sluice";
 *
 * const redact = createRedactor(["s3cret-key"]);
 * redact("POST https://rpc.example/v2/s3cret-key failed"); // "POST https://rpc.example failed"
 * redact("Invalid key s3cret-key");                        // "Invalid key [baf2b3b3d5af]" (its fingerprint)
 * ```
 */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const shown = new Map<string, string>();
  for (const secret of secrets) {
    if (secret === "") continue;
    for (const form of forms(secret)) {
      const key = form.toLowerCase();
      if (!shown.has(key)) shown.set(key, `[${fingerprint(secret)}]`);
    }
  }
  // Longest first: a secret that contains another must not leave its remainder behind.
  const alternatives = [...shown.keys()].sort((a, b) => b.length - a.length).map(escapeForPattern);
  const known = alternatives.length === 0 ? null : new RegExp(alternatives.join("|"), "gi");

  return (text) => {
    const named =
      known === null ? text : text.replace(known, (found) => shown.get(found.toLowerCase()) ?? "[redacted]");
    return named
      .replace(URL_IN_TEXT, (_, scheme: string, authority: string, rest: string) => origin(scheme, authority, rest))
      .replace(NAMED_VALUE, "$1$2[redacted]")
      .replace(CREDENTIAL_HEADER, "$1[redacted]")
      .replace(BEARER, "$1[redacted]");
  };
}

function forms(secret: string): string[] {
  // `encodeURIComponent` throws on a lone surrogate.
  const wellFormed = secret.toWellFormed();
  return [
    secret,
    encodeURI(wellFormed),
    encodeURIComponent(wellFormed),
    new URLSearchParams({ "": secret }).toString().slice(1),
    JSON.stringify(secret).slice(1, -1),
  ];
}

function origin(scheme: string, authority: string, rest: string): string {
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  const tail = trailingPunctuation(rest === "" ? host : rest);
  const bare = rest === "" ? host.slice(0, host.length - tail.length) : host;
  return `${scheme}://${bare === "" || bare.startsWith(":") ? "[redacted]" : bare}${tail}`;
}

function trailingPunctuation(text: string): string {
  let end = text.length;
  while (end > 0 && PUNCTUATION.includes(text.charAt(end - 1))) end--;
  return text.slice(end);
}

function escapeForPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
