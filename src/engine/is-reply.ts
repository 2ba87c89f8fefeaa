import type { ExchangeReply, Lease } from "../ports/ledger.ts";
import type { BucketState, TargetState } from "../ports/state.ts";

/**
 * Whether what a store answered is a reply in form. A store that another version wrote, or a proxy before it, may
 * answer anything: that counts as no answer and must not get into the pool.
 */
export function isReply(value: unknown, wants: number): value is ExchangeReply {
  if (!isRecord(value)) return false;
  const { leases, retryAt, changes, version, now, demand, clients, suspicions } = value as Partial<ExchangeReply>;
  return (
    [version, now, demand, clients].every(Number.isFinite) &&
    Array.isArray(suspicions) &&
    Array.isArray(retryAt) &&
    retryAt.length === wants &&
    retryAt.every(Number.isFinite) &&
    Array.isArray(leases) &&
    leases.every(isLease) &&
    isRecord(changes) &&
    isRecord(changes.buckets) &&
    isRecord(changes.targets) &&
    Object.values(changes.buckets).every(isBucket) &&
    Object.values(changes.targets).every(isTarget)
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isLease(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { bucket, target, at, epoch } = value as Partial<Lease>;
  return typeof bucket === "string" && typeof target === "string" && Number.isFinite(at) && Number.isFinite(epoch);
}

function isBucket(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { tat, epoch, limit, gate, today, free } = value as Partial<BucketState>;
  return [tat, epoch, limit].every(Number.isFinite) && isRecord(gate) && isRecord(today) && Array.isArray(free);
}

function isTarget(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { gate, health, window, today, cannot } = value as Partial<TargetState>;
  return [gate, health, window, today, cannot].every(isRecord);
}
