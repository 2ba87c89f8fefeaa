import type { DayCount, UseWindow } from "../ports/state.ts";

const SLICE_MS = 30_000;
const SLICES = 30;
export const DAY_MS = 86_400_000;

export const EMPTY_WINDOW: UseWindow = { slice: 0, used: [], failed: [] };

function shift(counts: readonly number[], by: number): number[] {
  if (by >= SLICES) return [0];
  const shifted: number[] = [];
  for (let i = 0; i < by; i++) shifted.push(0);
  shifted.push(...counts.slice(0, SLICES - by));
  return shifted;
}

/** Adds to the newest slice; what is older than 15 minutes falls out. Never below zero. */
export function count(window: UseWindow, now: number, used: number, failed: number): UseWindow {
  const slice = Math.max(Math.floor(now / SLICE_MS), window.slice);
  const by = slice - window.slice;
  const next = {
    slice,
    used: by === 0 ? window.used.slice() : shift(window.used, by),
    failed: by === 0 ? window.failed.slice() : shift(window.failed, by),
  };
  next.used[0] = Math.max(0, (next.used[0] ?? 0) + used);
  next.failed[0] = Math.max(0, (next.failed[0] ?? 0) + failed);
  return next;
}

/** The sum over the last `minutes` (at most 15), exact to a slice of half a minute. */
export function sum(window: UseWindow, counts: "used" | "failed", now: number, minutes: number): number {
  const old = Math.floor(now / SLICE_MS) - window.slice;
  const until = minutes * 2 - old;
  const values = window[counts];
  let total = 0;
  for (let i = 0; i < until && i < values.length; i++) total += values[i] ?? 0;
  return total;
}

export function dayOf(at: number): number {
  return Math.floor(at / DAY_MS);
}

/** Calls of the UTC day of `now`. */
export function usedToday(today: DayCount, now: number): number {
  return today.day === dayOf(now) ? today.used : 0;
}

/** Counts calls on the UTC day of `at`; a new day starts at zero, a count for a day gone by is dropped. */
export function countDay(today: DayCount, at: number, calls: number): DayCount {
  const day = dayOf(at);
  if (day < today.day) return today;
  return day === today.day ? { ...today, used: Math.max(0, today.used + calls) } : { day, used: Math.max(0, calls) };
}

/** The upstream says that the UTC day of `at` is spent; a day gone by is dropped. */
export function spendDay(today: DayCount, at: number): DayCount {
  return dayOf(at) < today.day ? today : { ...countDay(today, at, 0), spent: true };
}

/** Whether the UTC day of `at` takes no more calls. */
export function isSpent(today: DayCount, at: number, stop: number | null): boolean {
  if (today.spent === true && today.day === dayOf(at)) return true;
  return stop !== null && usedToday(today, at) >= stop;
}
