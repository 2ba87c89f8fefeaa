import { memoryPlatform } from "../../../adapters/memory/index.ts";
import { memoryLedger } from "../../../src/ledger/memory-ledger.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { ExchangeReply, Ledger } from "../../../src/ports/ledger.ts";
import { createSluice } from "../../../src/sluice.ts";
import { etherscan } from "../../../src/upstreams/etherscan/index.ts";
import { createFakeClock, type FakeClock } from "../../fixtures/fake-clock.ts";
import { createSandbox, sandboxKeys } from "../../fixtures/sandbox-etherscan.ts";
import { seededRandom } from "../../fixtures/seeded-random.ts";
import { quantile } from "./quantile.ts";

/** Milliseconds of one exchange's way there or back, drawn anew for each. */
export type StoreLatency = (random: () => number) => number;

export interface FleetCourse {
  readonly isolates: number;
  readonly buckets: number;
  /** Calls per second that arrive at random, each at an isolate chosen at random. */
  readonly perSecond: number;
  readonly storeHalfMs: StoreLatency;
  /** The pool's `jitterMs`, and how much the delay from dispatch to being counted really varies. */
  readonly jitterMs: number;
  /** Length of the measured load; what comes before it is not measured. */
  readonly ms: number;
  readonly seed: number;
}

export interface FleetRun {
  /** Calls that the upstream answered, and per-second refusals, in the measured time. */
  readonly served: number;
  readonly refused: number;
  readonly exchanges: number;
  readonly outages: number;
  /** Calls that were given up by ourselves. */
  readonly failed: number;
  readonly p50: number;
  readonly p95: number;
}

/** Until the fleet knows the ledger's time and every bucket is in use. */
const WARM_UP_MS = 60_000;
const DRAIN_MS = 15_000;
const UPSTREAM_BASE_MS = 20;
/** Each isolate's clock is wrong by up to this much, either way. */
const CLOCK_SPREAD_MS = 2_000;
const ADDRESS = "0x00000000000000000000000000000000000000a1";

/** A fleet of isolates in virtual time, each with a clock and a chance of its own, over one ledger and one sandbox. */
export async function runFleet(course: FleetCourse): Promise<FleetRun> {
  const { isolates, buckets, perSecond, jitterMs, ms, seed } = course;
  const clock = createFakeClock({ seed });
  const random = seededRandom(5_000 + seed);
  const keys = sandboxKeys(buckets, seed);
  const sandbox = createSandbox({
    clock: { ...clock, random: seededRandom(seed) },
    keys: keys.map((key) => ({ key })),
    counting: "sliding",
    latency: (draw) => UPSTREAM_BASE_MS + jitterMs * draw(),
    logSize: Infinity,
  });
  const { ledger, exchangedAt } = farLedger(clock, course.storeHalfMs, seededRandom(9_000 + seed));
  let outages = 0;
  const fleet = Array.from({ length: isolates }, (_, i) => {
    const platform = memoryPlatform({
      clock: ownClock(clock, (2 * random() - 1) * CLOCK_SPREAD_MS, seededRandom(100_000 + 1_000 * seed + i)),
      transport: sandbox.fetch,
      events: { emit: ({ type }) => void (outages += type === "ledger_down" ? 1 : 0) },
    });
    const definition = etherscan({ keys, baseUrls: "https://sandbox.test/v2/api", jitterMs });
    return createSluice({ upstreams: { etherscan: definition } }, { ...platform, ledger });
  });

  const from = clock.now() + WARM_UP_MS;
  const to = from + ms;
  const waits: number[] = [];
  let failed = 0;
  const arrive = (): void => {
    const at = clock.now();
    if (at >= to) return;
    const upstream = fleet[Math.floor(random() * isolates)]?.upstream("etherscan");
    upstream?.call("account", "balance", { address: ADDRESS }).then(
      () => void (at >= from && waits.push(clock.now() - at)),
      () => void (failed += at >= from ? 1 : 0),
    );
    clock.after((-Math.log(1 - random()) * 1_000) / perSecond, arrive);
  };
  arrive();
  await clock.advance(WARM_UP_MS + ms + DRAIN_MS);
  const closed = Promise.all(fleet.map((sluice) => sluice.close()));
  await clock.advance(DRAIN_MS);
  await closed;

  const received = sandbox.requests.filter(({ at }) => at >= from && at < to);
  return {
    served: received.filter(({ outcome }) => outcome === "ok").length,
    refused: received.filter(({ outcome }) => outcome === "refused_second").length,
    exchanges: exchangedAt.filter((at) => at >= from && at < to).length,
    outages,
    failed,
    p50: quantile(waits, 0.5),
    p95: quantile(waits, 0.95),
  };
}

function ownClock(clock: FakeClock, offsetMs: number, random: () => number): Clock {
  return { now: () => clock.now() + offsetMs, random, after: (ms, run) => clock.after(ms, run) };
}

/** The ledger in memory, a way there and a way back from everybody. */
function farLedger(
  clock: Clock,
  halfMs: StoreLatency,
  random: () => number,
): { readonly ledger: Ledger; readonly exchangedAt: readonly number[] } {
  const inner = memoryLedger(() => clock.now());
  const exchangedAt: number[] = [];
  const ledger: Ledger = {
    exchange(pool, request) {
      exchangedAt.push(clock.now());
      return new Promise<ExchangeReply>((resolve, reject) => {
        clock.after(halfMs(random), () => {
          // Only the ledger's own answer goes back: it answers at once.
          Promise.resolve(inner.exchange(pool, request)).then((reply) => {
            clock.after(halfMs(random), () => resolve(reply));
          }, reject);
        });
      });
    },
  };
  return { ledger, exchangedAt };
}
