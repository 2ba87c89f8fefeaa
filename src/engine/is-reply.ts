import type { ExchangeReply, Lease } from "../ports/ledger.ts";
import type { BucketState, TargetState } from "../ports/state.ts";

/**
 * Whether what a store answered is a reply in form. A store that another version wrote, or a proxy before it, may
 * answer anything: that counts as no answer and must not get into the pool.
 */
export function isReply(value: unknown, wants: number): value is ExchangeReply {
  if (!isRecord(value)) return false;
  const { leases, retryAt, changes, version, now, demand, clients, suspicions } = value as Partial<ExchangeReply>;
  if (!areNumbers(version, now) || !areNumbers(demand, clients) || !Array.isArray(suspicions)) return false;
  if (!Array.isArray(retryAt) || retryAt.length !== wants || !Array.isArray(leases) || !isRecord(changes)) return false;
  for (const at of retryAt) if (!Number.isFinite(at)) return false;
  for (const lease of leases) if (!isLease(lease)) return false;
  const { buckets, targets } = changes as Partial<ExchangeReply["changes"]>;
  if (!isRecord(buckets) || !isRecord(targets)) return false;
  for (const id in buckets) if (!isBucket(buckets[id])) return false;
  for (const id in targets) if (!isTarget(targets[id])) return false;
  return true;
}

function areNumbers(a: unknown, b: unknown): boolean {
  return Number.isFinite(a) && Number.isFinite(b);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isLease(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { bucket, target, at, epoch } = value as Partial<Lease>;
  return typeof bucket === "string" && typeof target === "string" && areNumbers(at, epoch);
}

function isBucket(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { tat, epoch, limit, gate, today, free } = value as Partial<BucketState>;
  return areNumbers(tat, epoch) && Number.isFinite(limit) && isRecord(gate) && isRecord(today) && Array.isArray(free);
}

function isTarget(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { gate, health, window, today, cannot } = value as Partial<TargetState>;
  return isRecord(gate) && isRecord(health) && isRecord(window) && isRecord(today) && isRecord(cannot);
}
