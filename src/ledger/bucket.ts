import type { BucketTerms } from "../ports/ledger.ts";
import type { BucketState, Gate } from "../ports/state.ts";
import { rateAt } from "./gate.ts";
import { DAY_MS } from "./window.ts";

/** A refusal within the ceiling means that somebody else spends the account: our share shrinks by this factor … */
const SHARE_SHRINK = 0.7;
/** … never below this … */
const SHARE_FLOOR = 0.2;
/** … and comes back by this much a second. */
const SHARE_REGAIN_PER_S = 0.05;
/** Foreign use counts as going on for this long after a refusal within the ceiling. */
const FOREIGN_USE_MS = 600_000;
/** A learnt ceiling is tried 5 % higher after this long without a refusal. */
const RAISE_AFTER_MS = 600_000;
const RAISE_FACTOR = 1.05;
/** Returned slots kept for re-issue. */
const FREE_MAX = 16;
/** The day's own pace forgives this many calls of haste. */
const DAY_BURST = 1_000;

export function newBucket(terms: BucketTerms): BucketState {
  return {
    version: 0,
    tat: 0,
    last: 0,
    epoch: 0,
    gate: { kind: "open" },
    limit: terms.limit,
    limitSource: "configured",
    raiseAt: 0,
    share: 1,
    shareAt: 0,
    today: { day: 0, used: 0 },
    dayTat: 0,
    holder: "",
    free: [],
  };
}

/** The ceiling in force, calls per second: a configured one follows the configuration, a learnt one stays. */
export function ceiling(bucket: BucketState, terms: BucketTerms): number {
  return bucket.limitSource === "configured" ? terms.limit : bucket.limit;
}

/** Our part of the ceiling at `now`, regained with time. */
export function shareAt(bucket: BucketState, now: number): number {
  return Math.min(1, bucket.share + (SHARE_REGAIN_PER_S * Math.max(0, now - bucket.shareAt)) / 1_000);
}

/** Whether somebody else seems to spend the account too. The share alone does not tell: it is whole again in seconds. */
export function hasForeignUse(bucket: BucketState, now: number): boolean {
  return bucket.share < 1 && now < bucket.shareAt + FOREIGN_USE_MS;
}

/**
 * Milliseconds between two calls that leave at `at` and after. Call i is counted up to `jitterMs` late, so no window of
 * `windowMs`, aligned or not, holds more than N calls if and only if the gap is at least (window + jitter) / N.
 */
export function gapAt(bucket: BucketState, terms: BucketTerms, at: number): number {
  const window = terms.windowMs + terms.jitterMs;
  const perWindow = (ceiling(bucket, terms) * terms.windowMs) / 1_000;
  return window / (perWindow * shareAt(bucket, at) * rateAt(bucket.gate, at));
}

/** Milliseconds between calls at the pace that spends the day's quota evenly; 0 when the day does not pace. */
export function dayGap(terms: BucketTerms): number {
  return terms.dailyPacing && terms.dailyStop !== null && terms.dailyStop > 0 ? DAY_MS / terms.dailyStop : 0;
}

/** Earliest instant by the day's own pace. */
export function dayReadyAt(bucket: BucketState, terms: BucketTerms): number {
  const gap = dayGap(terms);
  return gap === 0 ? 0 : bucket.dayTat - gap * Math.min(DAY_BURST, (terms.dailyStop ?? 0) / 10);
}

/** Takes the instant `at` off the timeline. `gate` is the target's: one that is coming back slows its bucket too. */
export function take(
  bucket: BucketState,
  terms: BucketTerms,
  slot: { at: number; cost: number; client: string; reissued: boolean; gate: Gate },
): BucketState {
  const { at, cost, client, reissued, gate } = slot;
  const slowed = Math.min(1, rateAt(gate, at) / rateAt(bucket.gate, at));
  return {
    ...bucket,
    limit: ceiling(bucket, terms),
    tat: reissued ? bucket.tat : at + (cost * gapAt(bucket, terms, at)) / slowed,
    last: Math.max(bucket.last, at),
    dayTat: dayGap(terms) === 0 ? bucket.dayTat : Math.max(bucket.dayTat, at) + cost * dayGap(terms),
    holder: reissued ? bucket.holder : client,
    free: bucket.free.filter((free) => free > at),
  };
}

/** Puts a slot that nobody used back, if it is still ahead and was granted under the present calibration. */
export function giveBack(bucket: BucketState, slot: { at: number; epoch: number }, now: number): BucketState {
  if (slot.epoch !== bucket.epoch || slot.at <= now || bucket.free.includes(slot.at)) return bucket;
  const ahead = bucket.free.filter((at) => at > now);
  return { ...bucket, free: [...ahead, slot.at].sort((a, b) => a - b).slice(0, FREE_MAX) };
}

/**
 * Settles the difference between reserved and real cost. Debts are paid from now on. A refund never reaches behind now,
 * and only the latest slot can have one: what an earlier call reserved too much lies behind the timeline's end.
 */
export function adjustCost(
  bucket: BucketState,
  terms: BucketTerms,
  slot: { at: number; epoch: number; units: number },
  now: number,
): BucketState {
  const gap = gapAt(bucket, terms, now);
  if (slot.units >= 0) return { ...bucket, tat: Math.max(bucket.tat, now) + slot.units * gap };
  if (slot.epoch !== bucket.epoch || slot.at !== bucket.last) return bucket;
  const floor = Math.min(bucket.tat, Math.max(now, bucket.last + gap));
  return { ...bucket, tat: Math.max(floor, bucket.tat + slot.units * gap) };
}

/**
 * Learns from a per-second refusal. `stated` is the ceiling that the upstream named, 0 when it named none.
 * Refusals of calls granted before the present calibration say nothing about it.
 */
export function recalibrate(
  bucket: BucketState,
  terms: BucketTerms,
  refusal: { stated: number; epoch: number },
  now: number,
): BucketState {
  const limit = ceiling(bucket, terms);
  const raiseAt = now + RAISE_AFTER_MS;
  const anew = { ...bucket, limit, raiseAt, epoch: bucket.epoch + 1, free: [] };
  const { stated } = refusal;
  // A pace of zero, if one were stated, would never be refused again, and so never unlearnt.
  if (stated > 0 && stated < limit) {
    return { ...anew, limit: stated, limitSource: "observed", tat: Math.max(bucket.tat, now) + terms.windowMs };
  }
  const current = refusal.epoch === bucket.epoch;
  const share = current ? Math.max(SHARE_FLOOR, shareAt(bucket, now) * SHARE_SHRINK) : bucket.share;
  const shrunk = current ? { share, shareAt: now } : {};
  if (stated > limit) {
    return { ...anew, ...shrunk, limit: stated, limitSource: "observed" };
  }
  return current ? { ...anew, ...shrunk } : { ...bucket, limit, raiseAt };
}

/** After ten clean minutes a learnt ceiling below the configured one is tried a little higher. */
export function raise(bucket: BucketState, terms: BucketTerms, now: number): BucketState {
  if (bucket.limitSource === "configured" || bucket.limit >= terms.limit || now < bucket.raiseAt) return bucket;
  return {
    ...bucket,
    limit: Math.min(terms.limit, bucket.limit * RAISE_FACTOR),
    limitSource: "probe",
    raiseAt: now + RAISE_AFTER_MS,
  };
}
