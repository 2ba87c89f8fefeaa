import { ninePhases } from "../../fixtures/sandbox-etherscan.ts";
import { printTable } from "./print-table.ts";
import { quantile } from "./quantile.ts";
import type { ArmRun } from "./run-arm.ts";

/** All runs of one arm, one a seed. */
export interface ArmRuns {
  readonly name: string;
  readonly runs: readonly ArmRun[];
}

export interface Report {
  readonly arms: readonly ArmRuns[];
  /** Length of each run; the flip is in the middle. */
  readonly ms: number;
  /** Names of the arms that the verdict is about. */
  readonly subject: string;
  readonly yardstick: string;
  readonly others: readonly string[];
}

interface Span {
  readonly from: number;
  readonly to: number;
}

interface Figures {
  readonly calls: number;
  readonly failed: number;
  readonly received: number;
  readonly refused: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

const P95_TARGET_MS = 1_000;
const YARDSTICK_FACTOR = 1.5;
const PROBES_PER_KEY_AND_MINUTE = 2;
const SICK_ABOVE = 0.05;
const MINUTE_MS = 60_000;

const percent = (part: number, whole: number): string => (whole === 0 ? "–" : `${((100 * part) / whole).toFixed(1)}`);
const ms = (value: number): string => (Number.isNaN(value) ? "–" : value.toFixed(0));
const isRefused = (outcome: string): boolean => outcome.startsWith("refused");

function figures(runs: readonly ArmRun[], { from, to }: Span): Figures {
  const samples = runs.flatMap((run) => run.samples.filter(({ at }) => at >= from && at < to));
  const received = runs.flatMap((run) => run.received.filter(({ at }) => at >= from && at < to));
  const waits = samples.map((sample) => sample.ms);
  return {
    calls: samples.length,
    failed: samples.filter(({ answered }) => !answered).length,
    received: received.length,
    refused: received.filter(({ outcome }) => isRefused(outcome)).length,
    p50: quantile(waits, 0.5),
    p95: quantile(waits, 0.95),
    p99: quantile(waits, 0.99),
  };
}

/** One table: each arm over the whole time, before and after the flip. */
export function printArms({ arms, ms: length }: Report): void {
  const whole = { from: 0, to: Infinity };
  const before = { from: 0, to: length / 2 };
  const after = { from: length / 2, to: Infinity };
  const cells = (name: string, f: Figures): string[] => [
    name,
    String(f.calls),
    percent(f.failed, f.calls),
    String(f.received),
    percent(f.refused, f.received),
    f.calls === 0 ? "–" : (f.refused / f.calls).toFixed(3),
    ms(f.p50),
    ms(f.p95),
    ms(f.p99),
  ];
  printTable(
    ["arm", "calls", "failed %", "received", "refused %", "refused/call", "p50 ms", "p95 ms", "p99 ms"],
    arms.flatMap(({ name, runs }, i) => [
      ...(i === 0 ? [] : [null]),
      cells(name, figures(runs, whole)),
      cells("  before the flip", figures(runs, before)),
      cells("  after it", figures(runs, after)),
    ]),
  );
}

/** Where each arm's refusals come from, per key. */
export function printKeys({ arms, ms: length }: Report): void {
  const flip = length / 2;
  const share = (value: number): string => (100 * value).toFixed(1);
  for (const { name, runs } of arms) {
    const received = runs.flatMap((run) => run.received);
    const told = runs.every((run) => run.told !== null) ? runs.flatMap((run) => run.told ?? []) : null;
    const rows = ninePhases(flip).map((key, i) => {
      const mine = received.filter(({ position }) => position === i + 1);
      const late = mine.filter(({ at }) => at >= flip);
      const early = mine.filter(({ at }) => at < flip);
      const refused = (calls: typeof mine): number => calls.filter(({ outcome }) => isRefused(outcome)).length;
      const mineTold = told?.filter(({ position }) => position === i + 1);
      const probes = mineTold?.filter(({ probe }) => probe).length;
      const turn = mineTold?.filter(({ probe, at }) => !probe && isTurn(at, length)).length;
      return [
        String.fromCharCode(65 + i),
        share(key.sickness?.(0) ?? 0),
        String(early.length),
        String(refused(early)),
        share(key.sickness?.(flip) ?? 0),
        String(late.length),
        String(refused(late)),
        String(mine.filter(({ outcome }) => outcome === "refused_second").length),
        ...(told === null
          ? []
          : [String(probes), String(turn), String((mineTold?.length ?? 0) - (probes ?? 0) - (turn ?? 0))]),
      ];
    });
    const total = (rows[0] ?? []).map((_, column) =>
      column === 0
        ? "all"
        : [1, 4].includes(column)
          ? ""
          : String(rows.reduce((sum, row) => sum + Number(row[column]), 0)),
    );
    const head = ["key", "sick %", "received", "refused", "→ sick %", "received", "refused", "too fast"];
    process.stdout.write(`\n${name}: by key, before the flip → after it\n`);
    printTable(told === null ? head : [...head, "by probes", "first minute", "otherwise"], [...rows, null, total]);
  }
}

/** A line a target, then the ratios. */
export function printVerdict({ arms, ms: length, subject, yardstick, others }: Report): void {
  const of = (name: string): Figures | undefined => {
    const arm = arms.find((each) => each.name === name);
    return arm === undefined ? undefined : figures(arm.runs, { from: 0, to: Infinity });
  };
  const ours = of(subject);
  const best = of(yardstick);
  if (ours === undefined || best === undefined) throw new Error("The verdict needs its two arms.");
  const runs = arms[0]?.runs.length ?? 0;
  const { probes, formula } = allowance(length, runs);
  const most = YARDSTICK_FACTOR * best.refused + probes;
  const verdict = (isMet: boolean): string => (isMet ? "met" : "missed");
  const lines = [
    `failed   ${ours.failed} of ${ours.calls} calls; target 0: ${verdict(ours.failed === 0)}`,
    `p95      ${ms(ours.p95)} ms; target < ${P95_TARGET_MS} ms: ${verdict(ours.p95 < P95_TARGET_MS)}`,
    `refused  ${ours.refused}; target ≤ ${YARDSTICK_FACTOR} × ${best.refused} (${yardstick}) + ${probes.toFixed(0)} ` +
      `(probes) = ${most.toFixed(0)}: ${verdict(ours.refused <= most)} (${((100 * ours.refused) / most).toFixed(0)} % of it)`,
    `         probes: ${formula}`,
    `         from: ${sources(arms, subject, length)}; ${yardstick}: ${sources(arms, yardstick, length)}`,
  ];
  for (const name of others) {
    const other = of(name);
    if (other !== undefined) lines.push(`against ${name}: ${ratios(ours, other)}`);
  }
  process.stdout.write(`\n${lines.join("\n")}\n`);
}

/** What an arm's refusals are the price of. The turn costs the same however long a run is: short runs feel it most. */
function sources(arms: readonly ArmRuns[], name: string, length: number): string {
  const told = arms.find((each) => each.name === name)?.runs.flatMap((run) => run.told ?? []) ?? [];
  const chosen = told.filter(({ probe }) => !probe);
  const turn = chosen.filter(({ at }) => isTurn(at, length)).length;
  const probes = told.length - chosen.length;
  return `${probes} probes, ${turn} in the first minute after the flip, ${chosen.length - turn} overflow and others`;
}

/** The first minute after the flip, while the keys' new health is being learnt. */
const isTurn = (at: number, length: number): boolean => at >= length / 2 && at < length / 2 + MINUTE_MS;

function ratios(ours: Figures, other: Figures): string {
  const per = (f: Figures): number => f.refused / f.calls;
  const failed = `failed ${percent(ours.failed, ours.calls)} % instead of ${percent(other.failed, other.calls)} %`;
  const refused = `refusals per call × ${(per(ours) / per(other)).toFixed(2)}`;
  return `${failed}, ${refused}, p50 × ${(ours.p50 / other.p50).toFixed(2)}, p95 × ${(ours.p95 / other.p95).toFixed(2)}`;
}

/** Two probes per sick key and minute, from the preset itself. */
function allowance(length: number, runs: number): { probes: number; formula: string } {
  const flip = length / 2;
  const keys = ninePhases(flip);
  const sickAt = (at: number): number => keys.filter((key) => (key.sickness?.(at) ?? 0) > SICK_ABOVE).length;
  const [before, after] = [sickAt(0), sickAt(flip)];
  const minutes = flip / MINUTE_MS;
  const probes = PROBES_PER_KEY_AND_MINUTE * (before + after) * minutes * runs;
  const half = Number(minutes.toFixed(2));
  const times = runs === 1 ? "" : ` × ${runs} seeds`;
  const formula =
    `${PROBES_PER_KEY_AND_MINUTE} × (${before} sick keys × ${half} min + ${after} sick keys × ${half} min)${times}` +
    `; sick: refuses more than ${100 * SICK_ABOVE} %`;
  return { probes, formula };
}
