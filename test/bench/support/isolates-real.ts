import { asPrecise } from "./as-precise.ts";
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { ensureCommand } from "../../fixtures/system-packages.ts";
import type { AddedDelay, Sharer } from "./isolates-real-course.ts";
import { ratelimitSharers } from "./isolates-real-ratelimit.ts";
import { addUp, ISOLATES, JITTER_MS, LIMIT, type ReadyFleet, type RealRun, startFleet } from "./isolates-real-row.ts";
import { onDurableObject, onRedis, onUpstash } from "./isolates-real-sluice.ts";
import { printTable } from "./print-table.ts";
import { quantile } from "./quantile.ts";

export interface RealSettings {
  /** Length of what is measured of each row. */
  readonly ms: number;
  /** Only the rows whose name holds this. */
  readonly only: string;
  readonly json: string | null;
  readonly seed: number;
}

interface Row {
  readonly sharer: Sharer;
  readonly addedDelay: AddedDelay | null;
  readonly load: number;
  readonly isOurs: boolean;
}

const FAR: AddedDelay = { minMs: 1, maxMs: 250 };
const [NEAR_FULL, OVERLOAD] = [0.85, 1.2];
const REFUSED_MAX = 0.001;
const UTILISATION_MIN = 0.92;
const EXCHANGES_MAX = 1.4;
/** Our isolates find the right pauses under contention within half a minute; a limiter learns nothing. */
const [OUR_WARM_UP_MS, WARM_UP_MS] = [30_000, 10_000];
/** Fleets of a row of ours, each with its own bucket and store: one lost slot is 1 % of a single one's half minute. */
const OUR_FLEETS = 3;
/** Fleets that run at once begin so far apart, so that their work does not fall together. */
const STAGGER_MS = 90;

/** DESIGN number 2 on real stores and the machine's clock, beside the published limiter on the same store. */
export async function runForReal({ ms, only, json, seed }: RealSettings): Promise<void> {
  ensureCommand("redis-server", "redis-server");
  const peers = await ratelimitSharers();
  if (typeof peers === "string") process.stdout.write(`${peers}\n`);
  const phases = phasesOf(typeof peers === "string" ? [] : peers)
    .map((rows) => rows.filter((row) => nameOf(row).includes(only)))
    .filter((rows) => rows.length > 0);
  if (phases.length === 0) return;
  process.stdout.write(
    `One bucket at ${LIMIT}/s, ${ISOLATES} isolates, real stores, real time: ${ms / 1_000} s after a warm-up, ` +
      `${OUR_FLEETS} fleets a row of ours, one a row of the limiter's. ` +
      `The upstream keeps a strict sliding log.\nOur isolates' clocks are wrong by up to 5 s, the limiter's are right. ` +
      `A call that its upstream refuses is over where a limiter let it go, and goes again with us.\n` +
      `lapsed: slots that the ledger granted and whose instant passed unused. ` +
      `spread: by how much the delay from dispatch to being counted varied; ${JITTER_MS} ms are allowed for. In ` +
      `brackets: refused calls around which this machine took more; they are held against nobody.\n\n`,
  );
  const results: { row: Row; run: RealRun }[] = [];
  for (const rows of phases) results.push(...(await runTogether(rows, ms, seed)));
  print(results);
  if (json !== null) await writeFile(json, `${JSON.stringify(results.map(toRecord), null, 2)}\n`);
}

async function runTogether(rows: readonly Row[], ms: number, seed: number): Promise<{ row: Row; run: RealRun }[]> {
  const started: { row: Row; fleet: ReadyFleet }[] = [];
  try {
    for (const row of rows) {
      const [count, warmUpMs] = row.isOurs ? [OUR_FLEETS, OUR_WARM_UP_MS] : [1, WARM_UP_MS];
      for (let i = 0; i < count; i++) {
        started.push({ row, fleet: await startFleet({ ...row, warmUpMs, ms, seed: 100 * seed + i }) });
      }
    }
    const running = started.map(async ({ row, fleet }, i) => {
      await sleep(i * STAGGER_MS);
      return { row, run: await fleet.run() };
    });
    const runs = await Promise.all(running);
    return rows.map((row) => ({ row, run: addUp(runs.filter((each) => each.row === row).map(({ run }) => run)) }));
  } finally {
    await Promise.all(started.map(({ fleet }) => fleet.close()));
  }
}

/** What runs at the same time: ours in this process, ours in workerd, and the limiters a kind at a time. */
function phasesOf(peers: readonly Sharer[]): readonly (readonly Row[])[] {
  const half = peers.length / 2;
  const ours = (sharers: readonly Sharer[]): Row[] =>
    [null, FAR].flatMap((addedDelay) => rowsOf(sharers, addedDelay, true));
  return [
    ours([onRedis, onUpstash]),
    ours([onDurableObject]),
    ...[null, FAR].flatMap((addedDelay) => [
      rowsOf(peers.slice(0, half), addedDelay, false),
      rowsOf(peers.slice(half), addedDelay, false),
    ]),
  ];
}

function rowsOf(sharers: readonly Sharer[], addedDelay: AddedDelay | null, isOurs: boolean): Row[] {
  return sharers.flatMap((sharer) => [NEAR_FULL, OVERLOAD].map((load) => ({ sharer, addedDelay, load, isOurs })));
}

const latencyOf = ({ addedDelay }: Row): string =>
  addedDelay === null ? "as it is" : `+${addedDelay.minMs}–${addedDelay.maxMs} ms`;
const nameOf = (row: Row): string =>
  `${row.sharer.limiter}, ${row.sharer.store}, ${latencyOf(row)}, ${Math.round(row.load * 100)} %`;
const shareOf = ({ served, refused }: RealRun, part: number): number => part / Math.max(1, served + refused);
const perCall = (count: number, { served }: RealRun): number => count / Math.max(1, served);

/** As far as it is not the machine's. */
const refusedShare = (run: RealRun): number => shareOf(run, run.refused - run.excused);

/** What a row of ours misses. */
function missesOf({ load }: Row, run: RealRun): string[] {
  return [
    ...(asPrecise(refusedShare(run), REFUSED_MAX) > REFUSED_MAX ? ["refused"] : []),
    ...(load > 1 && asPrecise(run.utilisation, UTILISATION_MIN) < UTILISATION_MIN ? ["utilisation"] : []),
    ...(asPrecise(perCall(run.decisions, run), EXCHANGES_MAX) > EXCHANGES_MAX ? ["exchanges"] : []),
    ...(run.outages > 0 ? ["outages"] : []),
  ];
}

function print(results: readonly { row: Row; run: RealRun }[]): void {
  const head = [
    "limiter",
    "store",
    "latency",
    "load",
    "served",
    "refused",
    "refused %",
    "utilisation",
    "decisions/call",
    "trips/call",
    "commands/call",
    "p95 ms",
    "unanswered",
    "lapsed",
    "spread ms",
    "target",
  ];
  let missed = 0;
  let noisy = 0;
  const cells = results.map(({ row, run }) => {
    const misses = row.isOurs ? missesOf(row, run) : [];
    missed += misses.length;
    if (misses.length > 0 && run.spreadMs > JITTER_MS) noisy++;
    return [
      row.sharer.limiter,
      row.sharer.store,
      latencyOf(row),
      `${Math.round(row.load * 100)} %`,
      String(run.served),
      `${run.refused}${run.excused === 0 ? "" : ` (${run.excused})`}`,
      (100 * shareOf(run, run.refused)).toFixed(2),
      run.utilisation.toFixed(3),
      perCall(run.decisions, run).toFixed(2),
      perCall(run.trips, run).toFixed(2),
      run.commands === null ? "–" : perCall(run.commands, run).toFixed(1),
      run.waits.length === 0 ? "–" : quantile(run.waits, 0.95).toFixed(0),
      String(run.failed),
      row.isOurs ? String(run.lapsed) : "",
      run.spreadMs.toFixed(0),
      !row.isOurs ? "" : misses.length === 0 ? "met" : `missed: ${misses.join(", ")}`,
    ];
  });
  printTable(head, cells);
  if (noisy > 0) {
    process.stdout.write(
      `\nIn ${noisy} of the rows that miss, the machine itself spread calls by more than the ${JITTER_MS} ms allowed ` +
        `for: run them again when it is less busy.\n`,
    );
  }
  const ours = results.filter(({ row }) => row.isOurs).map(({ run }) => run);
  if (ours.length === 0) return;
  const served = ours.reduce((sum, run) => sum + run.served, 0);
  const refused = ours.reduce((sum, run) => sum + run.refused, 0);
  const excused = ours.reduce((sum, run) => sum + run.excused, 0);
  process.stdout.write(
    `\nOf all our calls the upstream answered ${served} and refused ${refused}, ${excused} by the machine's delays.\n`,
  );
  process.stdout.write(`${missed === 0 ? "All targets are met." : `${missed} figures of ours miss their target.`}\n`);
  if (missed > 0) process.exitCode = 1;
}

function toRecord({ row, run }: { row: Row; run: RealRun }): object {
  const { waits, ...figures } = run;
  return {
    limiter: row.sharer.limiter,
    store: row.sharer.store,
    addedDelayMs: row.addedDelay === null ? null : [row.addedDelay.minMs, row.addedDelay.maxMs],
    load: row.load,
    ...figures,
    p50: quantile(waits, 0.5),
    p95: quantile(waits, 0.95),
    ...(row.isOurs ? { misses: missesOf(row, run) } : {}),
  };
}
