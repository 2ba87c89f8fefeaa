import { opensAt } from "../ledger/gate.ts";
import { newBucket } from "../ledger/bucket.ts";
import { sickness } from "../ledger/health.ts";
import { newTarget } from "../ledger/settle.ts";
import { DAY_MS, dayOf, isSpent, sum, usedToday } from "../ledger/window.ts";
import type { BucketState, Gate, TargetState } from "../ports/state.ts";
import type { UpstreamDefinition } from "./definition.ts";
import type { Pool } from "./pool.ts";
import { toSuspectedGroup } from "./suspected-group.ts";
import type { TargetStats, UpstreamStats } from "./stats.ts";
import type { Target } from "./target.ts";

export interface CallCounts {
  ok: number;
  failed: number;
  attempts: number;
  refused: number;
  inFlight: number;
}

/** The pool as operators see it. */
export function statsOf(name: string, definition: UpstreamDefinition, pool: Pool, counts: CallCounts): UpstreamStats {
  pool.wake();
  const { exchanger, board } = pool;
  const now = exchanger.now();
  const { inFlight, ...calls } = counts;
  return {
    upstream: name,
    protocol: definition.protocol.name,
    strategy: typeof definition.strategy === "string" ? definition.strategy : definition.strategy.name,
    missing: definition.missing,
    capacity: board.capacity(now),
    demand: exchanger.demand,
    queued: pool.queued,
    inFlight,
    slots: pool.slots,
    clients: exchanger.clients,
    calls,
    suspectedGroups: exchanger.suspicions.map((suspicion) => toSuspectedGroup(suspicion, board, definition)),
    targets: [...board.all()].map((target) => targetStats(target, definition, pool, now)),
  };
}

function targetStats(
  target: Target,
  { terms }: UpstreamDefinition,
  { exchanger, board }: Pool,
  now: number,
): TargetStats {
  const bucket = exchanger.buckets.get(target.bucket) ?? newBucket(terms);
  const state = exchanger.targets.get(target.id) ?? newTarget();
  return {
    id: target.id,
    bucket: target.bucket,
    position: target.position,
    limit: bucket.limitSource === "configured" ? terms.limit : bucket.limit,
    limitSource: bucket.limitSource,
    ...board.paceOf(bucket, now),
    used5m: sum(state.window, "used", now, 5),
    used15m: sum(state.window, "used", now, 15),
    failed5m: sum(state.window, "failed", now, 5),
    today: usedToday(state.today, now),
    bucketToday: usedToday(bucket.today, now),
    dailyStop: terms.dailyStop,
    sickness: Math.round(sickness(state.health, now) * 1_000) / 1_000,
    ...standing(bucket, state, terms.dailyStop, now),
    ok: state.ok,
    failed: state.failed,
    lastError: state.lastError,
  };
}

function reasonOf(gate: Gate): string | null {
  return gate.kind === "cooling" || gate.kind === "probing" ? gate.reason : null;
}

/** Whether, why and for how long a target is out. A parked one has spent its day. */
function standing(
  bucket: BucketState,
  target: TargetState,
  dailyStop: number | null,
  now: number,
): Pick<TargetStats, "state" | "why" | "cooldownMs"> {
  if (target.disabled !== null) return { state: "disabled", why: target.disabled, cooldownMs: 0 };
  const gates = [bucket.gate, target.gate].sort((a, b) => opensAt(b) - opensAt(a));
  const longest = gates[0];
  if (longest !== undefined && opensAt(longest) > now) {
    const why = reasonOf(longest);
    const state = why === "rate_limited_daily" ? "parked" : "cooling";
    return { state, why, cooldownMs: Math.ceil(opensAt(longest) - now) };
  }
  if (isSpent(bucket.today, now, dailyStop)) {
    return { state: "parked", why: "daily_stop", cooldownMs: Math.ceil((dayOf(now) + 1) * DAY_MS - now) };
  }
  return { state: "ready", why: null, cooldownMs: 0 };
}
