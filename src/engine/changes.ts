import { hasForeignUse } from "../ledger/bucket.ts";
import type { SluiceEvent } from "../ports/events.ts";
import type { BucketState, Gate, TargetState } from "../ports/state.ts";

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
export type EventBody = DistributiveOmit<SluiceEvent, "at" | "upstream">;

/** The ledger sets an end with its own dice, within a minute of the one that this isolate foresaw: no news. */
const SAME_END_MS = 60_000;

/** A long cooldown that has begun, or has become longer; the one second after a refusal is no news. */
function hasCooled(after: Gate, before: Gate, now: number): after is Gate & { kind: "cooling" } {
  if (after.kind !== "cooling" || !after.ramp || after.until <= now) return false;
  if (before.kind !== "cooling" || !before.ramp || before.until <= now) return true;
  return before.until + SAME_END_MS < after.until;
}

/** What a change of a bucket's row means to people, or null. Rows seen for the first time are old news. */
export function bucketEvent(
  id: string,
  after: BucketState,
  before: BucketState | undefined,
  now: number,
): EventBody | null {
  if (before === undefined) return null;
  if (hasCooled(after.gate, before.gate, now)) {
    return { type: "bucket_cooled", bucket: id, reason: after.gate.reason, untilMs: after.gate.until };
  }
  if (after.limit !== before.limit && after.limitSource !== "configured") {
    return { type: "limit_learned", bucket: id, limit: after.limit, before: before.limit };
  }
  if (hasForeignUse(after, now) && !hasForeignUse(before, now)) {
    return { type: "foreign_use", bucket: id, share: after.share };
  }
  return null;
}

/** What a change of a target's row means to people, or null. */
export function targetEvent(
  id: string,
  after: TargetState,
  before: TargetState | undefined,
  now: number,
): EventBody | null {
  if (before === undefined) return null;
  if (after.disabled !== null && before.disabled === null) {
    return { type: "target_disabled", target: id, reason: after.disabled };
  }
  if (after.disabled === null && before.disabled !== null) return { type: "target_enabled", target: id };
  if (hasCooled(after.gate, before.gate, now)) {
    return { type: "target_cooled", target: id, reason: after.gate.reason, untilMs: after.gate.until };
  }
  return null;
}
