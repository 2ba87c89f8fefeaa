const FORWARDED: ReadonlySet<string> = new Set([
  "age",
  "cache-control",
  "content-disposition",
  "content-language",
  "content-type",
  "etag",
  "expires",
  "last-modified",
  "request-id",
  "retry-after",
  "retry-after-ms",
  "vary",
]);
const FORWARDED_PREFIXES: readonly string[] = ["ratelimit", "x-ratelimit-"];

/**
 * The headers of an upstream's answer that its client gets: a new `Headers` with those of a list and nothing else.
 *
 * A list of what passes, not of what is dropped, because what must never pass has no end: hop-by-hop headers and
 * `content-encoding`/`content-length` (the body is decoded), `location` (a redirect repeats the query, and with it the
 * key), `set-cookie`, `www-authenticate`, `access-control-*` (the gateway's own CORS rules count), `server`, `cf-*`,
 * `alt-svc`, `strict-transport-security` and all that a provider may add tomorrow.
 *
 * @param own Lower-case names that the protocol lets pass besides; a trailing `*` makes one a prefix (`anthropic-*`).
 */
export function forwardableHeaders(headers: Headers, own: readonly string[] = []): Headers {
  const forwarded = new Headers();
  for (const [name, value] of headers) {
    if (FORWARDED.has(name) || isPrefixed(name) || (own.length > 0 && isOwn(name, own))) forwarded.append(name, value);
  }
  return forwarded;
}

function isPrefixed(name: string): boolean {
  for (const prefix of FORWARDED_PREFIXES) if (name.startsWith(prefix)) return true;
  return false;
}

function isOwn(name: string, own: readonly string[]): boolean {
  return own.some((entry) => (entry.endsWith("*") ? name.startsWith(entry.slice(0, -1)) : name === entry));
}
