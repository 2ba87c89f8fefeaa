/**
 * A `Retry-After` value in milliseconds (RFC 9110 §10.2.3): seconds, or an HTTP date. A date is measured against the
 * answer's own `Date`, since the two come from one clock; without that it is undefined, as for anything unreadable.
 */
export function retryAfterMs(value: string | null, date: string | null): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  if (date === null || !/[a-z]/i.test(text)) return undefined;
  const left = Date.parse(text) - Date.parse(date);
  return Number.isFinite(left) ? Math.max(0, left) : undefined;
}
