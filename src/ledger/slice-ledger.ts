import type { BucketTerms, ExchangeRequest, Ledger } from "../ports/ledger.ts";
import { gapAt, newBucket } from "./bucket.ts";
import { MemoryPool } from "./memory-ledger.ts";

/** Part of an isolate's even share that it spends when nobody tells it what the others do. */
const SLICE_FACTOR = 0.5;

/**
 * Terms by which one of `isolates` spends half of its even share of every bucket. The guard is widened, not the ceiling
 * lowered: what the upstream states is measured by the true one.
 */
export function sliceTerms(terms: BucketTerms, isolates: number): BucketTerms {
  const span = ((terms.windowMs + terms.jitterMs) * Math.max(1, isolates)) / SLICE_FACTOR;
  return { ...terms, jitterMs: span - terms.windowMs };
}

/**
 * The ledger of a deployment that has no strong store: each isolate keeps its own and spends a slice of each ceiling, as
 * if there were `isolates` of them. Nothing is shared, and it is forgotten with the isolate. `now` gives epoch ms,
 * `random` numbers in [0, 1): isolates that are born together make their first calls one after the other.
 */
export function sliceLedger(now: () => number, isolates: number, random: () => number): Ledger {
  const pools = new Map<string, MemoryPool>();
  return {
    exchange(pool, request) {
      const terms = sliceTerms(request.terms, isolates);
      let rows = pools.get(pool);
      if (rows === undefined) pools.set(pool, (rows = new MemoryPool()));
      stagger(rows, request, terms, now(), random);
      return rows.exchange({ ...request, terms }, now());
    },
  };
}

/** A bucket that comes up for the first time begins anywhere within its gap. */
export function stagger(
  rows: MemoryPool,
  { want }: Pick<ExchangeRequest, "want">,
  terms: BucketTerms,
  now: number,
  random: () => number,
): void {
  for (const { bucket } of want.flatMap(({ picks }) => picks)) {
    if (rows.buckets.has(bucket)) continue;
    const fresh = newBucket(terms);
    rows.buckets.set(bucket, { ...fresh, tat: now + random() * gapAt(fresh, terms, now) });
  }
}
