import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { workerClock } from "../../adapters/cloudflare/clock.ts";
import { NOON } from "../fixtures/pure-store.ts";

// What workerd itself does not do on demand. Its own run of the contract is test/contract/clock-workerd.test.ts.

/** Epoch ms that `Date.now` tells, apart from the platform's timers. */
let now = NOON;
let kept: Promise<unknown>[] = [];
const clock = () => workerClock({ waitUntil: (work) => void kept.push(work) });

beforeEach(() => {
  now = NOON;
  kept = [];
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  vi.spyOn(Date, "now").mockImplementation(() => now);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("a timer whose clock stands still waits until it moves", () => {
  const run = vi.fn<() => void>();
  clock().after(10, run);
  vi.advanceTimersByTime(50);
  now += 9;
  vi.advanceTimersByTime(50);
  expect(run).not.toHaveBeenCalled();
  now += 1;
  vi.advanceTimersByTime(1);
  expect(run).toHaveBeenCalledTimes(1);
});

test("a timer beyond the platform's longest runs at its time", () => {
  const run = vi.fn<() => void>();
  const ms = 2 ** 32 + 5;
  clock().after(ms, run);
  for (const step of [2 ** 31 - 1, 2 ** 31 - 1, 6]) {
    now += step;
    vi.advanceTimersByTime(step);
    expect(run).not.toHaveBeenCalled();
  }
  now = NOON + ms;
  vi.advanceTimersByTime(1);
  expect(run).toHaveBeenCalledTimes(1);
});

test("a request is let go when its timer has run, was cancelled, or was run by another", async () => {
  const shared = clock();
  shared.after(10, () => {});
  shared.after(10_000, () => {})();
  now += 100;
  const lost = vi.fn<() => void>();
  const unwatch = shared.watch();
  shared.after(-100, lost);
  vi.advanceTimersByTime(1_000);
  unwatch();
  expect(lost).toHaveBeenCalledTimes(1);
  expect(await Promise.all(kept)).toHaveLength(3);
  expect(vi.getTimerCount()).toBe(0);
});
