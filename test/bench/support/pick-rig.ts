import { sandboxKeys } from "../../fixtures/sandbox-etherscan.ts";
import { seededRandom } from "../../fixtures/seeded-random.ts";
import { healthiest } from "../../../src/engine/choose/healthiest.ts";
import type { UpstreamDefinition } from "../../../src/engine/definition.ts";
import { Pool } from "../../../src/engine/pool.ts";
import type { Slot } from "../../../src/engine/queue.ts";
import type { Target } from "../../../src/engine/target.ts";
import { memoryLedger } from "../../../src/ledger/memory-ledger.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import { etherscan } from "../../../src/upstreams/etherscan/index.ts";

export interface RigOptions {
  readonly targets: number;
  /** A quarter of the targets refuses whatever it is sent, another quarter is parked for a day. */
  readonly halfIsOut: boolean;
  /** Ceiling of each target, calls per second. */
  readonly perSecond: number;
  /** Virtual milliseconds between two calls. */
  readonly stepMs: number;
}

/** A pool in a virtual time that moves on with each call, so that a slot is always free. */
export interface Rig {
  /** Choose, admit and settle one call on the engine's own road. Throws when the call would have had to wait. */
  call(): void;
  /** The same choice by looking at every target, without admission: what a naive chooser does. */
  scan(): Target | undefined;
  /** Ranks all targets anew, as the pool does once a second. */
  refresh(): void;
}

const DAY_MS = 86_400_000;
const NEEDS = ["chain:1"];
const REFUSAL = { error: "rate_limited_second", cool: { what: "target", ms: 1_000, reason: "bench" } } as const;

export function createRig({ targets: count, halfIsOut, perSecond, stepMs }: RigOptions): Rig {
  const clock = createTimeline();
  const keys = sandboxKeys(count);
  const definition = etherscan({ keys, callsPerSec: perSecond, dailyCap: 1e12 }) as unknown as UpstreamDefinition;
  const pool = new Pool({
    name: "bench",
    definition,
    ledger: memoryLedger(() => clock.now()),
    clock,
    isolates: 1,
    emit: () => undefined,
  });
  const { targets } = definition;
  const sick = new Set(halfIsOut ? targets.filter((_, i) => i % 4 === 1) : []);
  const parked = halfIsOut ? targets.filter((_, i) => i % 4 === 3) : [];

  const call = (): void => {
    clock.advance(stepMs);
    const slot = pool.admit({ priority: "interactive", needs: NEEDS, cost: 1, tried: new Set(), waitMs: 10_000 });
    if (slot instanceof Promise) throw new Error("The call has to wait: this would not measure the fast path.");
    if (sick.has(slot.to)) pool.settle(slot, "refused", REFUSAL);
    else pool.settle(slot, "ok", {});
  };

  call();
  for (const target of sick) for (let i = 0; i < 3; i++) pool.settle(slotOn(target, clock.now()), "refused", REFUSAL);
  pool.tell(parked, { cool: { what: "target", ms: DAY_MS, reason: "bench" } });
  clock.advance(2_000);

  return {
    call,
    scan: () => scan(pool, targets, clock.now()),
    refresh() {
      clock.advance(1_000);
      pool.board.refresh(clock.now(), pool.exchanger.demand);
    },
  };
}

function scan(pool: Pool, targets: readonly Target[], now: number): Target | undefined {
  let best: Target | undefined;
  let bestCost = Infinity;
  let bestRank = Infinity;
  for (const target of targets) {
    const state = pool.exchanger.targets.get(target.id);
    const context = { now, covered: true };
    const cost = Math.max(now, pool.board.readyAtOf(target, now)) + healthiest.penaltyMs(target, state, context);
    if (cost > bestCost) continue;
    const rank = healthiest.rank(target, state, context);
    if (cost === bestCost && rank >= bestRank) continue;
    best = target;
    bestCost = cost;
    bestRank = rank;
  }
  return best;
}

function slotOn(to: Target, at: number): Slot {
  return { want: 0, bucket: to.bucket, target: to.id, at, epoch: 0, probe: false, to };
}

/** A clock with room for the one timer that a pool keeps: the price of real timers is not the engine's. */
function createTimeline(): Clock & { advance(ms: number): void } {
  let now = Date.UTC(2026, 0, 15, 1);
  let due = Infinity;
  let run: (() => void) | null = null;
  return {
    now: () => now,
    random: seededRandom(1),
    after(ms, then) {
      due = now + ms;
      run = then;
      return () => void (run = null);
    },
    advance(ms) {
      now += ms;
      if (run === null || due > now) return;
      const then = run;
      run = null;
      then();
    },
  };
}
