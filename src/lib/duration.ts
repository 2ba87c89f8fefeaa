/** "850 ms", "12 s", "7 h 20 min": a length of time for people, from milliseconds. */
export function seconds(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const total = Math.ceil(ms / 1_000);
  if (total < 120) return `${total} s`;
  const minutes = Math.ceil(total / 60);
  if (minutes < 120) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
