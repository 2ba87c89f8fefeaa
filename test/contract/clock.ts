import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Clock } from "../../src/ports/clock.ts";
import { divertUncaught } from "../fixtures/divert-uncaught.ts";

/** A clock under test. */
export interface ClockUnderTest {
  readonly clock: Clock;
  /** Lets at least so much of its time pass, and every timer that is due by then fire. May reject with what one threw. */
  pass(ms: number): Promise<void>;
  /** Milliseconds from any origin, by which a timer must not be early; never set, and finer than `now` may be. */
  elapsed(): number;
  close?(): Promise<void>;
}

/** `now` counts whole milliseconds at least. */
const GRAIN_MS = 1;
/** As fine as fractions of epoch milliseconds are. */
const EPSILON_MS = 0.001;
const MINUTE_MS = 60_000;

/** What every clock must hold, virtual or real. Its times are short, since a real one is waited for. */
export function clockContract(name: string, open: () => Promise<ClockUnderTest>): void {
  describe(`the clock contract: ${name}`, () => {
    let tested: ClockUnderTest;
    let clock: Clock;
    beforeEach(async () => {
      tested = await open();
      clock = tested.clock;
    });
    afterEach(() => tested.close?.());

    /** Sets a timer for each, and tells in which order they fire. */
    const fireAll = async (delays: readonly number[], passMs: number): Promise<number[]> => {
      const fired: number[] = [];
      for (const ms of delays) clock.after(ms, () => void fired.push(ms));
      await tested.pass(passMs);
      return fired;
    };

    it("tells epoch milliseconds, and they move on", async () => {
      const from = clock.now();
      expect(Math.abs(from - Date.now())).toBeLessThan(MINUTE_MS);
      let last = from;
      for (let i = 0; i < 5; i++) {
        await tested.pass(5);
        expect(clock.now()).toBeGreaterThanOrEqual(last + 5 - GRAIN_MS);
        last = clock.now();
      }
    });

    it("runs each timer once, never before its time", async () => {
      const counts = new Map<number, number>();
      const early: string[] = [];
      const delays = Array.from({ length: 60 }, (_, i) => 0.3 + i * 0.37);
      for (const ms of delays) {
        // Node counts from the beginning of the turn of its loop: a timer that is set late in one must not be early.
        for (const until = performance.now() + 0.4; performance.now() < until;);
        const [from, start] = [clock.now(), tested.elapsed()];
        clock.after(ms, () => {
          counts.set(ms, (counts.get(ms) ?? 0) + 1);
          const waited = tested.elapsed() - start;
          if (waited < ms - EPSILON_MS) early.push(`${ms} ms after ${waited} ms`);
          if (clock.now() - from < ms - GRAIN_MS) early.push(`${ms} ms after ${clock.now() - from} ms of its own`);
        });
      }
      await tested.pass(60);
      expect(early).toEqual([]);
      expect(delays.map((ms) => counts.get(ms))).toEqual(delays.map(() => 1));
    });

    it("runs them in order of time, however they were set", async () => {
      const delays = [40, 5, 75, 20, 60, 0];
      expect(await fireAll(delays, 120)).toEqual([...delays].sort((a, b) => a - b));
    });

    it("runs what is due now or since long soon, but not at once", async () => {
      let sync = true;
      const fired: [ms: number, sync: boolean][] = [];
      for (const ms of [0, -1, -1e9, -Infinity]) clock.after(ms, () => void fired.push([ms, sync]));
      sync = false;
      expect(fired).toEqual([]);
      await tested.pass(10);
      expect(fired.map(([, wasSync]) => wasSync)).toEqual([false, false, false, false]);
    });

    it("does not run at once what lies beyond a platform's longest timer", async () => {
      const cancels = [2 ** 31, 2 ** 32 + 1, 1e15, Infinity].map((ms) =>
        clock.after(ms, () => {
          throw new Error(`${ms} ms have not passed.`);
        }),
      );
      await tested.pass(20);
      for (const cancel of cancels) cancel();
    });

    it("runs none that is cancelled, twice or from within another", async () => {
      const fired: string[] = [];
      const twice = clock.after(5, () => void fired.push("twice"));
      twice();
      twice();
      const victim = clock.after(60, () => void fired.push("victim"));
      clock.after(10, () => {
        fired.push("killer");
        victim();
      });
      const soon = clock.after(0, () => void fired.push("soon"));
      soon();
      await tested.pass(90);
      expect(fired).toEqual(["killer"]);
    });

    it("takes a cancel after the fact, its own included, and cancels nobody else by it", async () => {
      const fired: string[] = [];
      const cancelOwn = clock.after(1, () => {
        fired.push("own");
        cancelOwn();
      });
      const spent = clock.after(15, () => void fired.push("spent"));
      await tested.pass(40);
      clock.after(5, () => void fired.push("other"));
      spent();
      cancelOwn();
      await tested.pass(30);
      expect(fired).toEqual(["own", "spent", "other"]);
    });

    it("takes timers that timers set, none of them early", async () => {
      const fired: number[] = [];
      const early: string[] = [];
      const chain = (left: number): void => {
        const [ms, start] = [2 + left * 0.7, tested.elapsed()];
        clock.after(ms, () => {
          fired.push(left);
          const waited = tested.elapsed() - start;
          if (waited < ms - EPSILON_MS) early.push(`${ms} ms after ${waited} ms`);
          if (left > 0) chain(left - 1);
        });
      };
      chain(5);
      for (let i = 0; i < 50 && fired.length < 6; i++) await tested.pass(10);
      expect(fired).toEqual([5, 4, 3, 2, 1, 0]);
      expect(early).toEqual([]);
    });

    it("a timer that throws stops no other", async () => {
      const uncaught = divertUncaught();
      const fired: string[] = [];
      const reported: unknown[] = [];
      try {
        clock.after(4, () => void fired.push("before"));
        clock.after(12, () => {
          throw new Error("of the timer");
        });
        clock.after(12, () => void fired.push("beside"));
        clock.after(24, () => void fired.push("after"));
        for (let i = 0; i < 2; i++) await tested.pass(40).catch((error: unknown) => void reported.push(error));
      } finally {
        uncaught.restore();
      }
      expect(fired).toEqual(["before", "beside", "after"]);
      // It may swallow what was thrown or hand it on, once.
      for (const error of [...reported, ...uncaught.thrown]) expect(error).toMatchObject({ message: "of the timer" });
      expect(reported.length + uncaught.thrown.length).toBeLessThanOrEqual(1);
    });

    it("draws chance from all of [0, 1)", () => {
      const draws = Array.from({ length: 2_000 }, () => clock.random());
      expect(draws.filter((draw) => !(draw >= 0 && draw < 1))).toEqual([]);
      expect(new Set(draws).size).toBeGreaterThan(1_900);
      expect(new Set(draws.map((draw) => Math.floor(draw * 10))).size).toBe(10);
    });
  });
}
