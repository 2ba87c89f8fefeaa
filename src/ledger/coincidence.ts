import type { Coincidence, Partner, PoolHead, Suspicion } from "../ports/state.ts";

/** Buckets whose refusals are followed, and partners kept for each: bounds the pool's row to a few kilobytes. */
const FOLLOWED_MAX = 12;
/** Instants remembered to tell which buckets were in use in the window before a call. */
const RECENT_MAX = 64;
/** Evidence is halved when it holds this many refusals, so that an old truth fades. */
const REFUSED_MAX = 100;
/** What is usual is the mean of this many latest calls: fewer say little, more mix a key's well days with its sick ones. */
const USUAL_OVER = 10;
/** Refusals before this many calls say nothing: nobody knows yet what is usual. */
const CALLS_MIN = 8;
/** Refusals below which a bucket is no suspect; what goes with its neighbours' refusals then is mere load. */
const REFUSED_MIN = 4;
/** Least deviations for a pair: each way, and both together. Chance reached 4.5 once in sixty runs of 20 minutes. */
const EACH_MIN = 2.4;
const BOTH_MIN = 4.8;
/** … and for one more bucket that goes with a pair found, as members of one account come to light one after the other. */
const JOIN_EACH_MIN = 0.8;
const JOIN_BOTH_MIN = 1.5;
/** A suspicion is told when it has stood unchanged for this long. */
const STANDING_MS = 180_000;

type Recent = PoolHead["recent"];
type Coincidences = PoolHead["coincidences"];

export function remember(recent: Recent, used: Recent): Recent {
  return used.length === 0 ? recent : [...recent, ...used].slice(-RECENT_MAX);
}

/** Enters one answered call of `bucket` that left at `at`: how often were the others in use in the window before it? */
export function follow(
  head: Pick<PoolHead, "recent" | "coincidences">,
  call: { bucket: string; at: number; refused: boolean },
  windowMs: number,
): Coincidences {
  const known = head.coincidences[call.bucket];
  if (known === undefined && (!call.refused || Object.keys(head.coincidences).length >= FOLLOWED_MAX)) {
    return head.coincidences;
  }
  const { calls, refused, with: before } = known ?? NOTHING_KNOWN;
  const uses = new Map<string, number>();
  for (const other of Object.keys(before)) uses.set(other, 0);
  for (const [other, at] of head.recent) {
    if (other === call.bucket || at <= call.at - windowMs || at > call.at) continue;
    if (uses.has(other) || uses.size < FOLLOWED_MAX) uses.set(other, (uses.get(other) ?? 0) + 1);
  }
  const counts = call.refused && calls >= CALLS_MIN;
  const fade = refused >= REFUSED_MAX ? 0.5 : 1;
  const weight = 1 / Math.min(calls + 1, USUAL_OVER);
  const partners: Record<string, Partner> = {};
  for (const [other, used] of uses) {
    const [usual, square, excess, variance] = before[other] ?? [0, 0, 0, 0];
    partners[other] = [
      rounded(usual + (used - usual) * weight),
      rounded(square + (used * used - square) * weight),
      rounded((excess + (counts ? used - usual : 0)) * fade),
      rounded((variance + (counts ? Math.max(VARIANCE_MIN, square - usual * usual) : 0)) * fade),
    ];
  }
  const entry: Coincidence = { calls: calls + 1, refused: refused * fade + (counts ? 1 : 0), with: partners };
  return { ...head.coincidences, [call.bucket]: entry };
}

const NOTHING_KNOWN: Coincidence = { calls: 0, refused: 0, with: {} };
/** Ten equal calls look as if they could not be otherwise. */
const VARIANCE_MIN = 0.02;

/** The state is stored as text. */
function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

/**
 * Groups of buckets that hold each other's refusals: the others are used more often before a refusal than is usual
 * before a call of the same bucket at that time. Load alone explains one direction, so it takes both. A suspicion that
 * stands already keeps its `since`.
 */
export function suspect(coincidences: Coincidences, before: readonly Suspicion[], now: number): Suspicion[] {
  const ids = Object.keys(coincidences)
    .filter((id) => (coincidences[id]?.refused ?? 0) >= REFUSED_MIN)
    .sort();
  const loads = new Map(ids.map((id) => [id, loadOf(coincidences, id)]));
  const deviation = (of: string, by: string) => deviationOf(coincidences[of], by) - (loads.get(of) ?? 0);
  let groups: Set<string>[] = [];
  for (const [i, a] of ids.entries()) {
    for (const b of ids.slice(i + 1)) {
      const [there, back] = [deviation(a, b), deviation(b, a)];
      if (Math.min(there, back) < EACH_MIN || (there + back) / Math.SQRT2 < BOTH_MIN) continue;
      const joined = groups.filter((group) => group.has(a) || group.has(b));
      groups = groups.filter((group) => !joined.includes(group));
      groups.push(new Set([a, b, ...joined.flatMap((group) => [...group])]));
    }
  }
  for (const group of groups) {
    for (const id of ids) {
      if (group.has(id)) continue;
      const there = sumOf([...group].sort(), (member) => deviation(member, id)) / Math.sqrt(group.size);
      const back = sumOf([...group].sort(), (member) => deviation(id, member)) / Math.sqrt(group.size);
      if (Math.min(there, back) >= JOIN_EACH_MIN && (there + back) / Math.SQRT2 >= JOIN_BOTH_MIN) group.add(id);
    }
  }
  return groups.map((group) => {
    const buckets = [...group].sort();
    const stood = before.find((suspicion) => suspicion.buckets.join() === buckets.join());
    return { buckets, since: stood?.since ?? now, ...meansOf(coincidences, buckets) };
  });
}

/** Those that have stood long enough to be told. */
export function standing(suspicions: readonly Suspicion[], now: number): readonly Suspicion[] {
  return suspicions.filter(({ since }) => now - since >= STANDING_MS);
}

/** By how many standard deviations `other` is used more often before refusals than is usual. */
function deviationOf(entry: Coincidence | undefined, other: string): number {
  const [, , excess, variance] = entry?.with[other] ?? [0, 0, 0, 0];
  return variance < 1 ? 0 : excess / Math.sqrt(variance);
}

/** The same for those that are hardly refused: a bucket that cannot bear load is refused while all are in use. */
function loadOf(coincidences: Coincidences, id: string): number {
  const entry = coincidences[id];
  // In order: a sum of fractions depends on it.
  const others = Object.keys(entry?.with ?? {})
    .filter((other) => (coincidences[other]?.refused ?? 0) < REFUSED_MIN)
    .sort();
  return others.length < 2 ? 0 : Math.max(0, sumOf(others, (other) => deviationOf(entry, other)) / others.length);
}

/** Uses of the other members within the window before a refusal, and before any call, on average. */
function meansOf(coincidences: Coincidences, buckets: readonly string[]): Omit<Suspicion, "buckets" | "since"> {
  const entries = buckets.map((id) => coincidences[id] ?? NOTHING_KNOWN);
  const refused = sumOf(entries, (entry) => entry.refused);
  const of = (entry: Coincidence, part: 0 | 2) => sumOf(buckets, (other) => entry.with[other]?.[part] ?? 0);
  const usual = sumOf(entries, (entry) => of(entry, 0)) / entries.length;
  return { before: usual + sumOf(entries, (entry) => of(entry, 2)) / refused, usual, refused: Math.round(refused) };
}

function sumOf<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}
