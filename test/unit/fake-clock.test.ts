import { describe, expect, test } from "vitest";
import { createFakeClock } from "../fixtures/fake-clock.ts";
import { realClock } from "../fixtures/real-clock.ts";

describe("the fake clock", () => {
  test("fires timers in order of time, and of setting on a tie", async () => {
    const clock = createFakeClock({ start: 1000 });
    const fired: string[] = [];
    const note = (name: string) => () => void fired.push(`${name}@${clock.now()}`);
    clock.after(30, note("late"));
    clock.after(10, note("first"));
    clock.after(10, note("second"));
    clock.after(50, note("later"));
    clock.after(-5, note("past"));
    await clock.advance(40);
    expect(fired).toEqual(["past@1000", "first@1010", "second@1010", "late@1030"]);
    expect(clock.now()).toBe(1040);
    expect(clock.pending()).toBe(1);
  });

  test("orders thousands of timers", async () => {
    const clock = createFakeClock({ start: 0, seed: 3 });
    const fired: number[] = [];
    for (let i = 0; i < 3000; i++) clock.after(Math.floor(clock.random() * 500), () => void fired.push(clock.now()));
    await clock.advance(500);
    expect(fired).toHaveLength(3000);
    expect(fired).toEqual([...fired].sort((a, b) => a - b));
  });

  test("a cancelled timer neither fires nor counts", async () => {
    const clock = createFakeClock();
    let fired = 0;
    const cancel = clock.after(10, () => void fired++);
    cancel();
    cancel();
    expect(clock.pending()).toBe(0);
    const spent = clock.after(5, () => void fired++);
    await clock.advance(20);
    spent();
    expect(fired).toBe(1);
    expect(clock.pending()).toBe(0);
  });

  test("lets everything that a timer sets off through promises happen before the next timer", async () => {
    const clock = createFakeClock({ start: 0 });
    const seen: string[] = [];
    clock.after(10, () => {
      void (async () => {
        for (let i = 0; i < 5000; i++) await Promise.resolve();
        await new Response("body").text();
        seen.push(`chain@${clock.now()}`);
        clock.after(5, () => void seen.push(`set by the chain@${clock.now()}`));
      })();
    });
    clock.after(12, () => void seen.push(`next@${clock.now()}`));
    await clock.advance(20);
    expect(seen).toEqual(["chain@10", "next@12", "set by the chain@15"]);
  });

  test("lets what happened before an advance happen before the time moves", async () => {
    const clock = createFakeClock({ start: 0 });
    let firedAt = -1;
    void Promise.resolve()
      .then(() => null)
      .then(() => clock.after(10, () => void (firedAt = clock.now())));
    await clock.advance(10);
    expect(firedAt).toBe(10);
  });

  test("refuses nonsense", async () => {
    const clock = createFakeClock();
    await expect(clock.advance(-1)).rejects.toThrow("Time only moves on");
    await expect(clock.advance(Number.POSITIVE_INFINITY)).rejects.toThrow("Time only moves on");
    expect(() => clock.after(Number.NaN, () => undefined)).toThrow("got NaN");
    const first = clock.advance(1);
    await expect(clock.advance(1)).rejects.toThrow("Await one advance");
    await first;
  });

  test("chance comes from the seed, and is even", () => {
    const draw = (seed: number): number[] => Array.from({ length: 5 }, createFakeClock({ seed }).random);
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
    const { random } = createFakeClock({ seed: 9 });
    const draws = Array.from({ length: 10_000 }, () => Math.floor(random() * 10));
    for (let bin = 0; bin < 10; bin++) {
      const share = draws.filter((draw) => draw === bin).length;
      expect(Math.abs(share - 1000)).toBeLessThan(150);
    }
  });

  test("a hundred thousand timers take seconds at most", async () => {
    const clock = createFakeClock({ start: 0 });
    let left = 100_000;
    const tick = (): void => void (--left > 0 && clock.after(1, tick));
    clock.after(1, tick);
    const startedAt = performance.now();
    await clock.advance(100_000);
    expect(left).toBe(0);
    // About 0.2 s on an idle machine; the bound is for a busy one.
    expect(performance.now() - startedAt).toBeLessThan(5000);
  });
});

describe("the real clock", () => {
  test("never fires early, by either clock", async () => {
    const early: number[] = [];
    await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const ms = 0.3 + i * 0.37;
        const [wall, monotonic] = [realClock.now(), performance.now()];
        await new Promise<void>((resolve) => void realClock.after(ms, resolve));
        if (performance.now() - monotonic < ms) early.push(ms);
        if (realClock.now() - wall < Math.floor(ms)) early.push(ms);
      }),
    );
    expect(early).toEqual([]);
  });

  test("does not fire at once what lies beyond the platform's longest timer, and can be cancelled", async () => {
    const fired: string[] = [];
    const warn = (warning: Error): void => void fired.push(warning.name);
    process.on("warning", warn);
    const cancelFar = realClock.after(3e9, () => void fired.push("far"));
    const cancelNear = realClock.after(1, () => void fired.push("cancelled"));
    cancelNear();
    await new Promise<void>((resolve) => void realClock.after(10, resolve));
    cancelFar();
    process.off("warning", warn);
    expect(fired).toEqual([]);
  });
});
