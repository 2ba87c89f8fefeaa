import { shareAt } from "../ledger/bucket.ts";
import type { SluiceEvent } from "../ports/events.ts";
import type { BucketState, Gate, Suspicion, TargetState } from "../ports/state.ts";

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
export type EventBody = DistributiveOmit<SluiceEvent, "at" | "upstream">;

/** A share this close to the whole is not news. */
const WHOLE_SHARE = 0.95;

/** A long cooldown that has begun, or has become longer; the one second after a refusal is no news. */
function hasCooled(after: Gate, before: Gate | undefined, now: number): after is Gate & { kind: "cooling" } {
  if (after.kind !== "cooling" || !after.ramp || after.until <= now) return false;
  return before?.kind !== "cooling" || before.until < after.until;
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
  if (after.share < before.share && shareAt(before, now) >= WHOLE_SHARE) {
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

export function evidenceOf({ together, alone, calls }: Suspicion): string {
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  return `${percent(together)} refused while the others are in use, ${percent(alone)} while they are not (${calls} calls)`;
}
