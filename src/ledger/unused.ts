import type { BucketState, TargetState } from "../ports/state.ts";

/** Rows of keys that left the configuration go after this long. */
const KEPT_MS = 45 * 86_400_000;

/** Whether a row may be forgotten: its last use is long ago, and no operator's decision hangs on it. */
export function isUnused(row: BucketState | TargetState, now: number): boolean {
  const usedAt = "last" in row ? row.last : row.lastAt;
  const isOrdered = "disabled" in row && row.disabled === "operator";
  return usedAt > 0 && usedAt < now - KEPT_MS && !isOrdered;
}
