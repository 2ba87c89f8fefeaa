import { asPrecise } from "./support/as-precise.ts";
import { parseArgs } from "node:util";
import { type FleetRun, runFleet, type StoreLatency } from "./support/isolates-fleet.ts";
import { runForReal } from "./support/isolates-real.ts";
import { printTable } from "./support/print-table.ts";

const USAGE = `usage: npm run bench -- isolates [options]
  --only <text>     only the rows whose name holds this
  --minutes <n>     measured virtual minutes of each row (10 with one bucket, 1 with more)
  --seed <n>        (1)
  --virtual         only in virtual time
  --real [seconds]  only on real stores and the real clock, so many seconds measured of each row (30)
  --json <file>     what was measured on real stores
`;

const LIMIT = 3;
const ISOLATES = 20;
const POOL = 9;
const BUSY_POOL = 12;

const fixed =
  (ms: number): StoreLatency =>
  () =>
    ms / 2;
const LATENCIES: Readonly<Record<string, StoreLatency>> = {
  "1 ms": fixed(1),
  "20 ms": fixed(20),
  "100 ms": fixed(100),
  "250 ms": fixed(250),
  "1–250 ms": (random) => 0.5 + 124.5 * random(),
};

/** A row of the table and what it must reach. */
interface Row {
  readonly name: string;
  readonly storeHalfMs: StoreLatency;
  readonly isolates: number;
  readonly buckets: number;
  readonly perSecond: number;
  readonly jitterMs: number;
  readonly targets: Targets;
}

interface Settings {
  readonly only: string;
  readonly minutes: number | null;
  readonly seed: number;
  readonly parts: readonly ("virtual" | "real")[];
  readonly realMs: number;
  readonly json: string | null;
}

interface Targets {
  readonly refused: number;
  readonly utilisation?: number;
  readonly exchanges?: number;
}

const REFUSED_MAX = 0.001;
const JITTER_MS = 75;
const WIDE_JITTER_MS = 200;

/** DESIGN number 2: a fleet on one ledger that is near or far, under load and overload. */
export async function run(args: string[]): Promise<void> {
  let settings: Settings;
  try {
    settings = parseSettings(args);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exitCode = 2;
    return;
  }
  if (settings.parts.includes("virtual")) await runVirtually(settings);
  if (settings.parts.includes("real")) await runForReal({ ...settings, ms: settings.realMs });
}

async function runVirtually(settings: Settings): Promise<void> {
  const rows = allRows().filter(({ name }) => name.includes(settings.only));
  process.stdout.write(
    `One ledger, a strict sliding-log upstream, virtual time. Load and utilisation are parts of ${LIMIT} calls/s a ` +
      `bucket; (target) follows a figure, ! marks one that is missed. A safe spacing allows .930, with wide jitter .833. Figures are compared as precisely as targets are stated.\n\n`,
  );
  const cells: string[][] = [];
  let missed = 0;
  for (const row of rows) {
    const ms = 60_000 * (settings.minutes ?? (row.buckets === 1 ? 10 : 1));
    const result = await runFleet({ ...row, ms, seed: settings.seed });
    const figures = toCells(row, result, ms);
    missed += figures.filter((text) => text.endsWith("!")).length;
    cells.push(figures);
  }
  const head = ["", "served", "refused %", "utilisation", "exchanges/call", "outages", "given up", "p50 ms", "p95 ms"];
  printTable(head, cells);
  process.stdout.write(`\n${missed === 0 ? "All targets are met." : `${missed} figures miss their target.`}\n`);
  if (missed > 0) process.exitCode = 1;
}

function allRows(): Row[] {
  const fleet = { isolates: ISOLATES, jitterMs: JITTER_MS };
  const rows: Row[] = [];
  for (const [buckets, exchanges] of [
    [1, 1.4],
    [POOL, undefined],
  ] as const) {
    const few = exchanges === undefined ? {} : { exchanges };
    for (const [latency, storeHalfMs] of Object.entries(LATENCIES)) {
      const add = (load: number, jitterMs: number, utilisation: number | undefined): void => {
        const wide = jitterMs === JITTER_MS ? "" : ", wide jitter";
        rows.push({
          ...fleet,
          name: `${buckets} × ${LIMIT}/s, ${ISOLATES} isolates, ${latency}, ${Math.round(load * 100)} %${wide}`,
          storeHalfMs,
          buckets,
          perSecond: load * LIMIT * buckets,
          jitterMs,
          targets: { refused: REFUSED_MAX, ...few, ...(utilisation === undefined ? {} : { utilisation }) },
        });
      };
      add(0.85, JITTER_MS, undefined);
      add(1.2, JITTER_MS, 0.92);
      if (buckets === 1) add(1.2, WIDE_JITTER_MS, 0.83);
    }
  }
  for (const [latency, storeHalfMs] of Object.entries(LATENCIES)) {
    for (const perSecond of [25, 30]) {
      rows.push({
        name: `${BUSY_POOL} × ${LIMIT}/s, 1 isolate, ${latency}, ${perSecond}/s`,
        storeHalfMs,
        isolates: 1,
        buckets: BUSY_POOL,
        perSecond,
        jitterMs: JITTER_MS,
        targets: { refused: REFUSED_MAX, exchanges: 0.15 },
      });
    }
  }
  return rows;
}

function toCells({ name, buckets, targets }: Row, run: FleetRun, ms: number): string[] {
  const { served, refused, exchanges, outages, failed, p50, p95 } = run;
  const share = refused / Math.max(1, served + refused);
  const utilisation = (served * 1_000) / (LIMIT * buckets * ms);
  const each = exchanges / Math.max(1, served);
  const atMost = (value: number, target: number | undefined): string =>
    target !== undefined && asPrecise(value, target) > target ? " !" : "";
  const atLeast = (value: number, target: number | undefined): string =>
    target !== undefined && asPrecise(value, target) < target ? " !" : "";
  const aim = (target: number | undefined): string => (target === undefined ? "" : ` (${target})`);
  return [
    name,
    String(served),
    `${(100 * share).toFixed(2)} (${100 * targets.refused})${atMost(share, targets.refused)}`,
    `${utilisation.toFixed(3)}${aim(targets.utilisation)}${atLeast(utilisation, targets.utilisation)}`,
    `${each.toFixed(2)}${aim(targets.exchanges)}${atMost(each, targets.exchanges)}`,
    `${outages} (0)${atMost(outages, 0)}`,
    String(failed),
    p50.toFixed(0),
    p95.toFixed(0),
  ];
}

function parseSettings(args: readonly string[]): Settings {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string" },
      minutes: { type: "string" },
      seed: { type: "string" },
      virtual: { type: "boolean" },
      real: { type: "boolean" },
      json: { type: "string" },
    },
    allowPositionals: true,
  });
  const { only = "", minutes, seed = "1", virtual = false, real = false, json = null } = values;
  if (virtual && real) throw new TypeError("--virtual and --real leave each other out: without either both run.");
  if (positionals.length > (real ? 1 : 0)) throw new TypeError(`What is ${JSON.stringify(positionals.at(-1))} for?`);
  return {
    only,
    minutes: minutes === undefined ? null : positive("--minutes", minutes),
    seed: positive("--seed", seed),
    parts: virtual ? ["virtual"] : real ? ["real"] : ["virtual", "real"],
    realMs: 1_000 * positive("--real", positionals[0] ?? "30"),
    json,
  };
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (number > 0 && number < Infinity) return number;
  throw new TypeError(`${name} takes a number above 0, got ${JSON.stringify(text)}.`);
}
