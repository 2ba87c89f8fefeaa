import { expect, test } from "vitest";
import { toReadable } from "../../adapters/bun/printer.ts";
import { createEnroll } from "../../adapters/bun/process.ts";
import type { BunRuntime } from "../../adapters/bun/runtime.ts";

type Cron = NonNullable<BunRuntime["bun"]["cron"]>;

/** A Bun whose cron and signals are the test's. */
function fakeBun(cron: Cron | undefined) {
  const signals = new Map<string, () => void>();
  const exits: number[] = [];
  const runtime = {
    bun: { version: "1.4.5", cron },
    process: {
      env: {},
      stderr: {},
      on: (signal: string, run: () => void) => signals.set(signal, run),
      exit: (code: number) => void exits.push(code),
    },
  } as unknown as BunRuntime;
  return { runtime, signals, exits };
}

test("a process has one cron, in UTC, and one handler a signal, for all gateways in it", async () => {
  const crons: { readonly schedule: string; readonly tz: string; run(): Promise<void> }[] = [];
  const done: string[] = [];
  const { runtime, signals, exits } = fakeBun((schedule, run, { tz }) => {
    crons.push({ schedule, tz, run });
    return { unref: () => done.push("keeps nobody alive") };
  });
  const enroll = createEnroll();
  const print = (line: string): void => void done.push(line);
  enroll(runtime, {
    scheduled: () => Promise.reject(new Error("has not started")),
    stop: async () => void done.push("first stopped"),
    print,
  });
  enroll(runtime, {
    scheduled: async () => void done.push("second ran"),
    stop: async () => void done.push("second stopped"),
    print,
  });
  expect(crons.map(({ schedule, tz }) => [schedule, tz])).toEqual([["17 3 * * *", "UTC"]]);
  await crons[0]?.run();
  expect(done.splice(0)).toEqual([
    "keeps nobody alive",
    "sluice: the daily jobs did not run: has not started",
    "second ran",
  ]);

  expect([...signals.keys()]).toEqual(["SIGINT", "SIGTERM"]);
  signals.get("SIGINT")?.();
  signals.get("SIGTERM")?.();
  await expect.poll(() => exits).toEqual([0]);
  expect(done).toEqual(["first stopped", "second stopped"]);
});

test("a gateway that cannot stop in order ends the process all the same, with a word", async () => {
  const { runtime, signals, exits } = fakeBun(undefined);
  const printed: string[] = [];
  createEnroll()(runtime, {
    scheduled: async () => {},
    stop: () => Promise.reject(new Error("the disk is full")),
    print: (line) => void printed.push(line),
  });
  signals.get("SIGTERM")?.();
  await expect.poll(() => exits).toEqual([1]);
  expect(printed).toEqual(["sluice: the disk is full"]);
});

test.each<[what: string, cron: Cron]>([
  [
    "throws",
    () => {
      throw new TypeError("a path, please");
    },
  ],
  ["rejects", () => Promise.reject(new TypeError("a path, please"))],
])("a cron that %s is told, and takes nothing with it", async (_what, cron) => {
  const printed: string[] = [];
  createEnroll()(fakeBun(cron).runtime, {
    scheduled: async () => {},
    stop: async () => {},
    print: (line) => void printed.push(line),
  });
  await expect.poll(() => printed).toEqual(["sluice: Bun.cron does not take the daily jobs: a path, please"]);
});

test("on a terminal events read as on Node's, and other lines as they are", () => {
  const event = { type: "limit_learned", at: 1_796_000_000_000, upstream: "etherscan", bucket: "abc", limit: 2 };
  expect(toReadable(JSON.stringify(event))).toBe("2026-11-30T00:53:20.000Z etherscan limit_learned bucket=abc limit=2");
  expect(toReadable("sluice: etherscan: 9 targets")).toBe("sluice: etherscan: 9 targets");
});
