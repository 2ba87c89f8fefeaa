import { availableParallelism, loadavg } from "node:os";
import { createRig } from "./support/pick-rig.ts";
import { printTable } from "./support/print-table.ts";
import { quantile } from "./support/quantile.ts";

const USAGE = `usage: npm run bench -- pick [options]
  --rounds <n>  interleaved rounds that the medians are taken of, a whole number (60)
`;

const SIZES = [9, 100, 400] as const;
const TARGET_US: Readonly<Record<number, number>> = { 9: 10, 400: 20 };
const ROUNDS = 60;
const WARM_UP_CALLS = 20_000;
/** The calls of one round: some five milliseconds. */
const ROUND_CALLS = 500;
/** Ceiling and pace at which a slot is always free, and those of nine to four hundred real keys. */
const FAST = { perSecond: 1_000, stepMs: 1 };
const REAL_PER_SECOND = 3;
const REAL_LOAD = 0.7;
/** (1000 + 75) / 3 */
const REAL_GAP_MS = 358.4;

interface Cell {
  readonly row: string;
  readonly size: number;
  readonly run: () => unknown;
  readonly us: number[];
}

/** DESIGN number 3: what choose + admit + settle cost, without I/O. */
export function run(args: string[]): void {
  const rounds = parseRounds(args);
  if (rounds === null) {
    process.stderr.write(USAGE);
    process.exitCode = 2;
    return;
  }
  const cells = SIZES.flatMap(cellsOf);
  const rows = [...new Set(cells.map(({ row }) => row))];
  for (const { run: call } of cells) for (let i = 0; i < WARM_UP_CALLS; i++) call();
  for (let round = 0; round < rounds; round++) for (const cell of cells) measure(cell);

  const us = (row: string, size: number): readonly number[] =>
    cells.find((cell) => cell.row === row && cell.size === size)?.us ?? [];
  const median = (row: string, size: number): number => quantile(us(row, size), 0.5);
  const [least, , most] = SIZES;
  warnIfBusy();
  process.stdout.write(
    `Microseconds a call, one process, ${rounds} interleaved rounds of ${ROUND_CALLS} calls: median (min–max).\n\n`,
  );
  printTable(
    ["", ...SIZES.map((size) => `${size} targets`), `${most} / ${least}`],
    rows.map((row) => [
      row,
      ...SIZES.map(
        (size) =>
          `${fixed(median(row, size))} (${fixed(quantile(us(row, size), 0))}–${fixed(quantile(us(row, size), 1))})`,
      ),
      (median(row, most) / median(row, least)).toFixed(2),
    ]),
  );

  const log = Math.log(most) / Math.log(least);
  process.stdout.write("\n");
  for (const row of ENGINE_ROWS) {
    for (const size of [least, most]) {
      const target = TARGET_US[size] ?? 0;
      const value = median(row, size);
      process.stdout.write(
        `${row}, ${size} targets: ${fixed(value)} µs; target ≤ ${target} µs: ${verdict(value <= target)}\n`,
      );
    }
    const growth = median(row, most) / median(row, least);
    process.stdout.write(
      `${row}, growth ${most} / ${least}: × ${growth.toFixed(2)}; target ≤ log ${most} / log ${least} = ${log.toFixed(2)}: ${verdict(growth <= log)}\n`,
    );
  }
}

function parseRounds(args: readonly string[]): number | null {
  const [name, text = "", ...rest] = args;
  if (name === undefined) return ROUNDS;
  const rounds = Number(text);
  return name === "--rounds" && rest.length === 0 && Number.isInteger(rounds) && rounds > 0 ? rounds : null;
}

const HEALTHY = "choose + admit + settle, all healthy";
const HALF_OUT = "… half of them sick or parked";
const AT_REAL_RATE = "… at 3 calls/s a key, 70 % load";
const ENGINE_ROWS = [HEALTHY, HALF_OUT, AT_REAL_RATE];

function cellsOf(size: number): Cell[] {
  const healthy = createRig({ targets: size, halfIsOut: false, ...FAST });
  const halfOut = createRig({ targets: size, halfIsOut: true, ...FAST });
  const stepMs = REAL_GAP_MS / (size * REAL_LOAD);
  const real = createRig({ targets: size, halfIsOut: false, perSecond: REAL_PER_SECOND, stepMs });
  // Its own: a refresh moves the time on by a second, in which the sick get well.
  const idle = createRig({ targets: size, halfIsOut: true, ...FAST });
  const used = new Float64Array(size);
  let turn = 0;
  const cell = (row: string, call: () => unknown): Cell => ({ row, size, run: call, us: [] });
  return [
    cell(HEALTHY, healthy.call),
    cell(HALF_OUT, halfOut.call),
    cell(AT_REAL_RATE, real.call),
    cell("the choice alone by a scan of all targets", halfOut.scan),
    cell("a bare round robin", () => (used[(turn = (turn + 1) % size)] ??= 0)),
    cell("for scale: all ranks anew (once a second)", idle.refresh),
  ];
}

function measure({ run: call, us }: Cell): void {
  const start = performance.now();
  for (let i = 0; i < ROUND_CALLS; i++) call();
  us.push(((performance.now() - start) * 1_000) / ROUND_CALLS);
}

/** Others on the machine take their part of every round; the least of many rounds is then nearest to the truth. */
function warnIfBusy(): void {
  const load = loadavg()[0] ?? 0;
  const cores = availableParallelism();
  if (load <= cores) return;
  process.stdout.write(`The machine is busy (load ${load.toFixed(1)} on ${cores} cores): the minima tell more.\n`);
}

const fixed = (us: number): string => us.toFixed(us < 1 ? 3 : 1);
const verdict = (isMet: boolean): string => (isMet ? "met" : "missed");
