import { setTimeout as sleep } from "node:timers/promises";
import { sandboxKeys, startSandbox } from "../../fixtures/sandbox-etherscan.ts";
import { seededRandom } from "../../fixtures/seeded-random.ts";
import { type AddedDelay, type Fleet, type Meter, SENT_AT, type Sharer } from "./isolates-real-course.ts";

export interface RealCourse {
  readonly sharer: Sharer;
  readonly addedDelay: AddedDelay | null;
  /** Part of what the bucket carries. */
  readonly load: number;
  readonly warmUpMs: number;
  /** Length of what is measured. */
  readonly ms: number;
  readonly seed: number;
}

export interface RealRun {
  /** Calls that the upstream answered and refused in the measured time. */
  readonly served: number;
  readonly refused: number;
  /** Refused calls around which this machine itself spread the delay from dispatch to being counted beyond `jitterMs`. */
  readonly excused: number;
  /** Calls answered per second, as part of the bucket's rate. */
  readonly utilisation: number;
  readonly decisions: number;
  readonly trips: number;
  readonly commands: number | null;
  readonly outages: number;
  readonly lapsed: number;
  /** Calls that ended without an answer. */
  readonly failed: number;
  /** From arrival to answer, of the answered calls. */
  readonly waits: readonly number[];
  /** By how much the delay from dispatch to being counted really varied, milliseconds. */
  readonly spreadMs: number;
}

export const LIMIT = 3;
export const ISOLATES = 20;
/** The configured `jitterMs`. */
export const JITTER_MS = 75;
/** Under overload the queue is as long as the calls' patience lets it be: it fills sooner with so many times the load … */
const RUSH = 2.5;
/** … for so long. */
const RUSH_MS = 6_000;
/** Calls that are still open when the load ends are given up after a call's patience and a bit. */
const DRAIN_MS = 11_000;
/** From dispatch to being counted. What is left of the configured jitter is for this machine's own delays. */
const WINDOW_MS = 1_000;
const UPSTREAM_MS = 20;
const UPSTREAM_JITTER_MS = 50;

/** A fleet that waits for its load, which is offered once. */
export interface ReadyFleet {
  run(): Promise<RealRun>;
  close(): Promise<void>;
}

/**
 * A fleet on the machine's clock over real connections, with one bucket of a strict upstream of its own. Started before
 * any fleet has its load: isolates remember for long how slow a ledger was on a machine that is busy starting others.
 */
export async function startFleet(course: RealCourse): Promise<ReadyFleet> {
  const { sharer, addedDelay } = course;
  const [key = ""] = sandboxKeys(1, course.seed);
  const { sandbox, url, close } = await startSandbox({
    keys: [{ key, perSecond: LIMIT }],
    counting: "sliding",
    latency: (random) => UPSTREAM_MS + UPSTREAM_JITTER_MS * random(),
    logSize: Infinity,
  });
  const fleet = await sharer.open({ key, baseUrl: `${url}/v2/api`, isolates: ISOLATES, addedDelay });
  // A Worker's script is compiled when it is first asked for something.
  await fleet.meter();
  return {
    async run() {
      const offered = await offer(fleet, course);
      const received = sandbox.requests.map(({ at, outcome, headers }) => ({
        at,
        outcome,
        delayMs: at - Number(headers[SENT_AT]),
      }));
      return figuresOf(offered, received);
    },
    async close() {
      await fleet.close();
      await close();
    },
  };
}

/** Several fleets that ran alike, as one. */
export function addUp(runs: readonly RealRun[]): RealRun {
  const sum = (of: (run: RealRun) => number): number => runs.reduce((total, run) => total + of(run), 0);
  return {
    served: sum((run) => run.served),
    refused: sum((run) => run.refused),
    excused: sum((run) => run.excused),
    utilisation: sum((run) => run.utilisation) / runs.length,
    decisions: sum((run) => run.decisions),
    trips: sum((run) => run.trips),
    commands: runs.some((run) => run.commands === null) ? null : sum((run) => run.commands ?? 0),
    outages: sum((run) => run.outages),
    lapsed: sum((run) => run.lapsed),
    failed: sum((run) => run.failed),
    waits: runs.flatMap((run) => run.waits),
    spreadMs: Math.max(...runs.map((run) => run.spreadMs)),
  };
}

interface Offered {
  readonly from: number;
  readonly to: number;
  readonly waits: readonly number[];
  readonly failed: number;
  readonly before: Meter;
  readonly after: Meter;
}

/** Calls at random instants, each at an isolate chosen at random. */
async function offer(fleet: Fleet, { load, warmUpMs, ms, seed }: RealCourse): Promise<Offered> {
  const random = seededRandom(20_000 + seed);
  const start = Date.now();
  const from = start + warmUpMs;
  const to = from + ms;
  const waits: number[] = [];
  const open = new Set<Promise<void>>();
  let failed = 0;
  let calls = 0;
  const call = async (): Promise<void> => {
    const at = Date.now();
    const isMeasured = at >= from && at < to;
    const isolate = Math.floor(random() * ISOLATES);
    const address = `0x${(++calls).toString(16).padStart(40, "0")}`;
    const answered = await fleet.call(isolate, address).catch(() => false);
    if (!isMeasured) return;
    if (answered) waits.push(Date.now() - at);
    else failed++;
  };

  const meters = [from, to].map(async (at) => {
    await sleep(at - Date.now());
    return fleet.meter();
  });
  // Instants add up from the start: a timer's lateness must not make the load smaller.
  for (let at = start; at < to;) {
    const isRush = load > 1 && at < start + RUSH_MS;
    at += (-Math.log(1 - random()) * 1_000) / (load * LIMIT * (isRush ? RUSH : 1));
    await sleep(Math.max(0, at - Date.now()));
    const one = call();
    open.add(one);
    void one.finally(() => open.delete(one));
  }
  const [before, after] = await Promise.all(meters);
  await Promise.race([Promise.all(open), sleep(DRAIN_MS)]);
  if (before === undefined || after === undefined) throw new Error("two instants have two meters");
  return { from, to, waits, failed, before, after };
}

interface Received {
  readonly at: number;
  readonly outcome: string;
  readonly delayMs: number;
}

function figuresOf({ from, to, waits, failed, before, after }: Offered, received: readonly Received[]): RealRun {
  const isWithin = ({ at }: Received): boolean => at >= from && at < to;
  const measured = received.filter(isWithin);
  const instants = received.filter(({ outcome }) => outcome === "ok").map(({ at }) => at);
  const delays = measured.map(({ delayMs }) => delayMs);
  return {
    served: measured.filter(({ outcome }) => outcome === "ok").length,
    refused: measured.filter(({ outcome }) => outcome === "refused_second").length,
    excused: received.filter((call, i) => isWithin(call) && isExcused(received, i)).length,
    utilisation: perSecond(instants, from, to) / LIMIT,
    decisions: after.decisions - before.decisions,
    trips: after.trips - before.trips,
    commands: after.commands === null || before.commands === null ? null : after.commands - before.commands,
    outages: after.outages - before.outages,
    lapsed: after.lapsed - before.lapsed,
    failed,
    waits,
    spreadMs: spreadOf(delays),
  };
}

/** What counts in a refused call's window were calls that took longer or shorter than we may assume. */
function isExcused(received: readonly Received[], index: number): boolean {
  const call = received[index];
  if (call?.outcome !== "refused_second") return false;
  const near = received.slice(0, index + 1).filter(({ at }) => at > call.at - WINDOW_MS - JITTER_MS);
  return spreadOf(near.map(({ delayMs }) => delayMs)) > JITTER_MS;
}

function spreadOf(delays: readonly number[]): number {
  return delays.length === 0 ? 0 : Math.max(...delays) - Math.min(...delays);
}

/** From the last call before each edge: a count within the edges would be wrong by up to one call, 1 % of a short row. */
function perSecond(instants: readonly number[], from: number, to: number): number {
  const lastBefore = (edge: number): number => instants.findLastIndex((at) => at < edge);
  const [first, last] = [lastBefore(from), lastBefore(to)];
  const [start = from, end = to] = [instants[first], instants[last]];
  return end > start ? ((last - first) * 1_000) / (end - start) : 0;
}
