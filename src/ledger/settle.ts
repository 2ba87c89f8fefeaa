import type { BucketTerms, Settlement } from "../ports/ledger.ts";
import type { BucketState, TargetState } from "../ports/state.ts";
import { adjustCost, giveBack, raise, recalibrate } from "./bucket.ts";
import { abandon, closedAfter, cool, PROBE_TTL_MS, succeed } from "./gate.ts";
import { observe, UNKNOWN_HEALTH } from "./health.ts";
import { count, countDay, DAY_MS, dayOf, EMPTY_WINDOW, spendDay } from "./window.ts";

/** After midnight UTC the parked come back one by one within a minute, not all at once. */
const UNPARK_FROM_MS = 5_000;
const UNPARK_SPREAD_MS = 55_000;
/** Cooldowns up to this many windows end without a probe: the one second of a refusal would be followed by nothing else. */
const PLAIN_COOLDOWN_WINDOWS = 2;
const CANNOT_MAX = 16;

export function newTarget(): TargetState {
  return {
    version: 0,
    disabled: null,
    gate: { kind: "open" },
    strikes: 0,
    health: UNKNOWN_HEALTH,
    window: EMPTY_WINDOW,
    lastAt: 0,
    today: { day: 0, used: 0 },
    ok: 0,
    failed: 0,
    lastError: null,
    cannot: {},
  };
}

/** When a bucket whose day of `at` is spent may go on, epoch ms. */
export function dayEnds(at: number, dice: number): number {
  return (dayOf(at) + 1) * DAY_MS + UNPARK_FROM_MS + dice * UNPARK_SPREAD_MS;
}

interface Rows {
  readonly bucket: BucketState;
  readonly target: TargetState;
}

interface Moment {
  readonly terms: BucketTerms;
  readonly now: number;
  readonly dice: number;
}

/** Enters what became of one slot. */
export function settle(rows: Rows, item: Settlement, moment: Moment): Rows {
  if (item.standIn === true && item.outcome === "unused") return rows;
  const { bucket, target } = item.standIn === true ? counted(rows, item, moment.now) : rows;
  return item.outcome === "unused"
    ? { bucket: returned(bucket, item, moment.now), target: unsent(target, item, moment.now) }
    : { bucket: settleBucket(bucket, item, moment), target: settleTarget(target, item, moment) };
}

/** The rows as if the ledger had granted the slot. */
function counted({ bucket, target }: Rows, { at }: Settlement, now: number): Rows {
  return {
    bucket: { ...bucket, today: countDay(bucket.today, at, 1) },
    target: { ...target, window: count(target.window, now, 1, 0), today: countDay(target.today, at, 1) },
  };
}

function returned(bucket: BucketState, item: Settlement, now: number): BucketState {
  const given = giveBack(bucket, item, now);
  return { ...given, gate: abandon(bucket.gate, item.at, now), today: countDay(bucket.today, item.at, -1) };
}

function unsent(target: TargetState, item: Settlement, now: number): TargetState {
  const { health } = target;
  return {
    ...target,
    // The probe of a sick target was not made: whoever comes next may make it.
    health: health.probeAt === item.at + PROBE_TTL_MS ? { ...health, probeAt: now } : health,
    gate: abandon(target.gate, item.at, now),
    window: count(target.window, now, -1, 0),
    today: countDay(target.today, item.at, -1),
  };
}

function settleBucket(bucket: BucketState, item: Settlement, moment: Moment): BucketState {
  const { terms, now, dice } = moment;
  let next = bucket;
  if (item.costDelta !== undefined) next = adjustCost(next, terms, { ...item, units: item.costDelta }, now);
  if (item.observedLimit !== undefined) {
    // Isolates that did not know of each other were refused: no sign of anybody else.
    const epoch = item.standIn === true ? -1 : item.epoch;
    next = recalibrate(next, terms, { stated: item.observedLimit, epoch }, now);
  }
  if (item.outcome === "ok" || item.outcome === "neutral") {
    next = raise({ ...next, gate: succeed(next.gate, item.at, now, 2 * terms.windowMs) }, terms, now);
  }
  if (item.cool?.what === "bucket") {
    next = {
      ...next,
      gate: cool(next.gate, now + item.cool.ms, item.cool.reason, isLong(item.cool.ms, terms)),
      free: [],
    };
  }
  if (item.parkDay && dayEnds(item.at, dice) > now) {
    const gate = cool(next.gate, dayEnds(item.at, dice), item.error ?? "day", true);
    next = { ...next, gate, free: [], today: spendDay(next.today, item.at) };
  }
  return next;
}

function settleTarget(target: TargetState, item: Settlement, moment: Moment): TargetState {
  const { terms, now } = moment;
  const good = item.outcome === "ok" || item.outcome === "neutral";
  const bad = item.outcome === "refused" || item.outcome === "failed";
  let next: TargetState = {
    ...target,
    health: item.outcome === "ok" || bad ? observe(target.health, good, now) : target.health,
    window: bad ? count(target.window, now, 0, 1) : target.window,
    ok: target.ok + (good ? 1 : 0),
    failed: target.failed + (bad ? 1 : 0),
    lastError: item.error ?? target.lastError,
  };
  if (good) {
    const strikes = closedAfter(next.gate, item.at) ? next.strikes : 0;
    next = { ...next, strikes, gate: succeed(next.gate, item.at, now, 2 * terms.windowMs) };
  }
  if (item.backoff !== undefined && !closedAfter(next.gate, item.at)) next = backOff(next, item.backoff, moment);
  if (item.cool?.what === "target") {
    next = { ...next, gate: cool(next.gate, now + item.cool.ms, item.cool.reason, isLong(item.cool.ms, terms)) };
  }
  if (item.disable !== undefined) next = { ...next, disabled: item.disable };
  if (item.cannot !== undefined) next = { ...next, cannot: withCannot(next.cannot, item.cannot, now) };
  return next;
}

/** Escalates; not for calls that were under way when the cooldown began, which report the same fault again. */
function backOff(target: TargetState, backoff: NonNullable<Settlement["backoff"]>, moment: Moment): TargetState {
  const ms = Math.min(backoff.capMs, backoff.baseMs * 2 ** target.strikes * (1 + moment.dice / 4));
  const gate = cool(target.gate, moment.now + ms, backoff.reason, isLong(ms, moment.terms));
  return { ...target, gate, strikes: Math.min(target.strikes + 1, 30) };
}

function isLong(ms: number, terms: BucketTerms): boolean {
  return ms > PLAIN_COOLDOWN_WINDOWS * terms.windowMs;
}

function withCannot(
  cannot: TargetState["cannot"],
  added: { need: string; ms: number },
  now: number,
): TargetState["cannot"] {
  const until = Math.max(cannot[added.need] ?? 0, now + added.ms);
  const live = Object.entries({ ...cannot, [added.need]: until })
    .filter(([, until]) => until > now)
    .sort(([needA, a], [needB, b]) => a - b || (needA < needB ? -1 : 1));
  return Object.fromEntries(live.slice(-CANNOT_MAX));
}
