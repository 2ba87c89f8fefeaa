import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sqliteLedger } from "../../adapters/bun/index.ts";
import type { BucketTerms, ExchangeReply } from "../../src/ports/ledger.ts";
import { type Delivered, expectReplayed, overAdmissions, plain } from "../fixtures/ledger-replay.ts";
import type { WorkerOptions } from "../fixtures/ledger-worker-main.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Three calls in a window of 100 ms: many windows in a short test. */
const TERMS: BucketTerms = { limit: 30, windowMs: 100, jitterMs: 8, dailyStop: 95_000, dailyPacing: false };
const PER_WINDOW = { limit: 3, windowMs: 100 };
const TARGETS = Array.from({ length: 8 }, (_, i) => `target-${i}`);

interface Worker {
  readonly process: ChildProcess;
  readonly delivered: Delivered[];
  /** Its last words; empty when it ended well. */
  readonly ended: Promise<string>;
}

let folder: string;
let path: string;
let started: Worker[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-bun-processes-"));
  path = join(folder, "state.db");
});
afterEach(async () => {
  for (const { process: child } of started) child.kill("SIGKILL");
  await Promise.all(started.map(({ ended }) => ended));
  started = [];
  rmSync(folder, { recursive: true });
});

function start(name: string, options: Partial<WorkerOptions> = {}, runtime: "bun" | "node" = "bun"): Worker {
  const usual = { path, name, seed: 1, exchanges: 300, batch: 1, targets: TARGETS, terms: TERMS, returns: true };
  const whole: WorkerOptions = { ...usual, ...options };
  const main = join(ROOT, "test/fixtures/bun-ledger-worker-main.ts");
  const child = spawn(join(ROOT, "node_modules/.bin", runtime), [main, JSON.stringify(whole)], {
    env: { ...process.env, NODE_NO_WARNINGS: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const delivered: Delivered[] = [];
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) delivered.push(JSON.parse(line) as Delivered);
  });
  let words = "";
  child.stderr.on("data", (chunk) => (words += String(chunk)));
  const ended = new Promise<string>((done) => {
    child.on("close", (code, signal) => done(code === 0 ? "" : `${name}: ${code ?? signal} ${words}`));
  });
  const worker = { process: child, delivered, ended };
  started.push(worker);
  return worker;
}

/** The state as the file has it, seen through a connection of its own. */
async function stored(): Promise<ExchangeReply> {
  const ledger = sqliteLedger({ path });
  const reply = await ledger.exchange("pool", {
    id: `look:${Date.now()}`,
    terms: TERMS,
    settle: [],
    want: [],
    arrived: 0,
    since: 0,
    leadMs: 0,
    skewMs: 0,
    dice: 0,
  });
  await ledger.close?.();
  return plain(reply);
}

describe("processes on one file of bun:sqlite", () => {
  it.each<[what: string, runtimes: readonly ("bun" | "node")[]]>([
    ["three at once", ["bun", "bun", "bun"]],
    ["two beside one of Node's", ["bun", "bun", "node"]],
  ])(
    "%s: no exchange lost, none refused by the file, never over the ceiling",
    async (_what, runtimes) => {
      const workers = runtimes.map((runtime, i) => start(`process-${i + 1}`, { seed: i + 1 }, runtime));
      expect(await Promise.all(workers.map(({ ended }) => ended))).toEqual(["", "", ""]);
      const delivered = workers.flatMap((worker) => worker.delivered);
      expect(delivered.map(({ reply }) => reply.version).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 900 }, (_, i) => i + 1),
      );
      expect(overAdmissions(delivered, PER_WINDOW)).toBe(0);
      const pure = expectReplayed(delivered);
      expect((await stored()).changes).toEqual(plain(pure.changes(0)));
    },
    60_000,
  );

  it("kill -9 in the middle of a storm: sound, and as far as the last answer that was heard", async () => {
    // Slots that are given back without our hearing of it would look as if they had been granted twice.
    const endless = { exchanges: 1e9, returns: false };
    const workers = [1, 2].map((seed) => start(`process-${seed}`, { seed, ...endless }));
    const heard = () => workers.flatMap((worker) => worker.delivered);
    const isEarly = (worker: Worker) => worker.delivered.length < 100 && worker.process.exitCode === null;
    while (workers.some(isEarly)) await new Promise((done) => setTimeout(done, 5));
    for (const worker of workers) worker.process.kill("SIGKILL");
    const words = await Promise.all(workers.map(({ ended }) => ended));
    expect(words).toEqual(workers.map((_worker, i) => `process-${i + 1}: SIGKILL `));

    const { version, changes } = await stored();
    expect(version).toBeGreaterThan(Math.max(...heard().map(({ reply }) => reply.version)));
    for (const { reply } of heard()) {
      for (const [id, row] of Object.entries(reply.changes.buckets)) {
        expect(changes.buckets[id]?.version).toBeGreaterThanOrEqual(row.version);
        expect(changes.buckets[id]?.last).toBeGreaterThanOrEqual(row.last);
      }
      for (const [id, row] of Object.entries(reply.changes.targets)) {
        expect(changes.targets[id]?.version).toBeGreaterThanOrEqual(row.version);
        expect(changes.targets[id]?.ok).toBeGreaterThanOrEqual(row.ok);
      }
    }

    // Those who come after go on from there: nothing that was granted is granted again.
    const next = start("process-3", { seed: 3, returns: false });
    expect(await next.ended).toBe("");
    expect(overAdmissions([...heard(), ...next.delivered], PER_WINDOW)).toBe(0);
  }, 60_000);
});
