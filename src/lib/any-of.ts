/** One case-insensitive expression that matches where any of the given ones does: long alternatives, a line each. */
export function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map((pattern) => pattern.source).join("|"), "i");
}
