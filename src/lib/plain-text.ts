/** A scalar of parsed JSON as text; empty for anything else, whose `toString` is not to be trusted. */
export function plainText(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}
