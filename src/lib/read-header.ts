/** The value of a header in a `Headers` or in a plain record whose names may be in any case; null when absent. */
export function readHeader(headers: Headers | Readonly<Record<string, string>>, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name);
  const wanted = name.toLowerCase();
  for (const key of Object.keys(headers)) {
    if (key.toLowerCase() === wanted) return headers[key] ?? null;
  }
  return null;
}
