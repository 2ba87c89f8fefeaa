import { expect, test } from "vitest";
import { toReadable } from "../../adapters/deno/printer.ts";
import { enroll } from "../../adapters/deno/process.ts";
import type { DenoRuntime } from "../../adapters/deno/runtime.ts";

test("a process has one cron and one handler a signal, for all gateways in it", async () => {
  const crons: {
    readonly name: string;
    readonly schedule: string;
    readonly signal: AbortSignal;
    run(): Promise<void>;
  }[] = [];
  const signals = new Map<string, () => void>();
  const done: string[] = [];
  const runtime = {
    cron: async (name: string, schedule: string, { signal }: { signal: AbortSignal }, run: () => Promise<void>) =>
      void crons.push({ name, schedule, signal, run }),
    unrefTimer: (timer: unknown) => void (timer as NodeJS.Timeout).unref(),
    addSignalListener: (signal: string, stop: () => void) => {
      // As on Windows.
      if (signal === "SIGTERM") throw new TypeError("Windows has no SIGTERM");
      signals.set(signal, stop);
    },
    exit: (code: number) => {
      throw new Error(`Nobody waits so long: ${code}`);
    },
  } as unknown as DenoRuntime;

  enroll(runtime, {
    scheduled: () => Promise.reject(new Error("has not started")),
    stop: async () => void done.push("first stopped"),
  });
  enroll(runtime, {
    scheduled: async () => void done.push("second ran"),
    stop: async () => void done.push("second stopped"),
  });
  expect(crons.map(({ name, schedule }) => [name, schedule])).toEqual([["sluice", "17 3 * * *"]]);
  await crons[0]?.run();
  expect(done).toEqual(["second ran"]);

  expect([...signals.keys()]).toEqual(["SIGINT"]);
  signals.get("SIGINT")?.();
  signals.get("SIGINT")?.();
  // With its cron gone Deno ends by itself.
  await expect.poll(() => crons[0]?.signal.aborted).toBe(true);
  expect(done).toEqual(["second ran", "first stopped", "second stopped"]);
});

test("on a terminal events read as on Node's, and other lines as they are", () => {
  const event = { type: "limit_learned", at: 1_796_000_000_000, upstream: "etherscan", bucket: "abc", limit: 2 };
  expect(toReadable(JSON.stringify(event))).toBe("2026-11-30T00:53:20.000Z etherscan limit_learned bucket=abc limit=2");
  expect(toReadable(JSON.stringify({ type: "fault", requestId: "r1", fault: "Error: no\n  at x" }))).toBe(
    "fault requestId=r1 fault=Error: no\n  at x",
  );
  expect(toReadable("sluice: etherscan: 9 targets")).toBe("sluice: etherscan: 9 targets");
});
