/** The headers in which callers give their tokens to us; they never go on to an upstream. */
export const CREDENTIAL_HEADERS: readonly string[] = ["authorization", "x-api-key", "proxy-authorization", "cookie"];

/** The token of `Authorization: Bearer …`, or null. */
export function bearerToken(headers: Headers): string | null {
  const value = headers.get("authorization");
  return value !== null && /^bearer /i.test(value) ? value.slice("bearer ".length).trim() : null;
}

/** Every token that a request's headers present: `Authorization: Bearer`, `x-api-key`. */
export function presentedTokens(headers: Headers): string[] {
  const tokens: string[] = [];
  const bearer = bearerToken(headers);
  if (bearer !== null) tokens.push(bearer);
  const apiKey = headers.get("x-api-key");
  if (apiKey !== null) tokens.push(apiKey);
  return tokens;
}
