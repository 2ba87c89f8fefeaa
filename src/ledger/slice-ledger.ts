import type { BucketTerms, Ledger } from "../ports/ledger.ts";
import { memoryLedger } from "./memory-ledger.ts";

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
 * if there were `isolates` of them. Nothing is shared, and it is forgotten with the isolate. `now` gives epoch ms.
 */
export function sliceLedger(now: () => number, isolates: number): Ledger {
  const ledger = memoryLedger(now);
  return {
    exchange: (pool, request) => ledger.exchange(pool, { ...request, terms: sliceTerms(request.terms, isolates) }),
  };
}
