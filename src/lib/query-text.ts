/**
 * Works on `a=1&b=2` as text, so that what is kept stays byte for byte as it was sent: order, repeats, `+` or `%20`.
 */

/** The query without every parameter of that name (any case, encoded or not). */
export function withoutParameter(query: string, name: string): string {
  return query
    .split("&")
    .filter((segment) => nameOf(segment) !== name)
    .join("&");
}

/** Joins queries, skipping empty ones. */
export function joinQueries(...queries: readonly string[]): string {
  return queries.filter((query) => query !== "").join("&");
}

/** The first non-empty value of a parameter of that lower-case name in any case; null when there is none. */
export function parameterIn(query: string, name: string): string | null {
  for (const [key, value] of new URLSearchParams(query)) {
    if (value !== "" && key.toLowerCase() === name) return value;
  }
  return null;
}

function nameOf(segment: string): string {
  const end = segment.indexOf("=");
  const raw = end < 0 ? segment : segment.slice(0, end);
  if (!/[%+]/.test(raw)) return raw.toLowerCase();
  const [decoded] = new URLSearchParams(`${raw}=`).keys();
  return (decoded ?? "").toLowerCase();
}
