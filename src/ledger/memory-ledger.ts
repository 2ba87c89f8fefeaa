import type { Changes, ExchangeReply, ExchangeRequest, Ledger } from "../ports/ledger.ts";
import type { BucketState, PoolHead, TargetState } from "../ports/state.ts";
import { EMPTY_HEAD, exchange, NO_CHANGES, type PoolRows } from "./exchange.ts";

/** Changes remembered in order; a client that lags further behind gets every row. */
const LOG_MAX = 1_024;

interface Logged {
  readonly version: number;
  readonly buckets: readonly string[];
  readonly targets: readonly string[];
}

/** All rows of one pool in memory, and in which order they changed. */
export class MemoryPool implements PoolRows {
  head: PoolHead;
  readonly buckets: Map<string, BucketState> = new Map();
  readonly targets: Map<string, TargetState> = new Map();
  /** A client that knows less than this version knows nothing that the log could complete. */
  readonly #from: number;
  #log: Logged[] = [];

  constructor(seed: Changes = NO_CHANGES, head: PoolHead = EMPTY_HEAD) {
    this.head = head;
    this.#from = head.version;
    for (const [id, row] of Object.entries(seed.buckets)) this.buckets.set(id, row);
    for (const [id, row] of Object.entries(seed.targets)) this.targets.set(id, row);
  }

  bucket(id: string): BucketState | undefined {
    return this.buckets.get(id);
  }

  target(id: string): TargetState | undefined {
    return this.targets.get(id);
  }

  exchange(request: ExchangeRequest, now: number): ExchangeReply {
    const result = exchange(this, request, now);
    this.head = result.head;
    for (const [id, row] of result.buckets) this.buckets.set(id, row);
    for (const [id, row] of result.targets) this.targets.set(id, row);
    this.#remember({
      version: result.head.version,
      buckets: [...result.buckets.keys()],
      targets: [...result.targets.keys()],
    });
    return { ...result.reply, changes: this.#changes(request.since), version: result.head.version };
  }

  #remember(logged: Logged): void {
    if (logged.targets.length === 0 && logged.buckets.length === 0) return;
    this.#log.push(logged);
    if (this.#log.length > 2 * LOG_MAX) this.#log = this.#log.slice(-LOG_MAX);
  }

  #changes(since: number): Changes {
    // A client that knows more than there is comes from another life of this ledger: it knows nothing of this one.
    if (since >= this.head.version) since = 0;
    const buckets: Record<string, BucketState> = {};
    const targets: Record<string, TargetState> = {};
    const complete = since >= Math.max(this.#from, (this.#log[0]?.version ?? 0) - 1);
    if (!complete) return { buckets: Object.fromEntries(this.buckets), targets: Object.fromEntries(this.targets) };
    for (let i = this.#log.length - 1; i >= 0; i--) {
      const logged = this.#log[i];
      if (logged === undefined || logged.version <= since) break;
      for (const id of logged.buckets) buckets[id] ??= this.buckets.get(id) as BucketState;
      for (const id of logged.targets) targets[id] ??= this.targets.get(id) as TargetState;
    }
    return { buckets, targets };
  }
}

/**
 * The ledger of one process: strongly consistent within it, forgotten with it. Answers at once.
 * `now` gives epoch milliseconds.
 *
 * @example
 * ```ts
 * import { memoryLedger } from "@sluice/sluice";
 *
 * const ledger = memoryLedger(Date.now);
 * const { leases } = await ledger.exchange("etherscan", {
 *   id: "isolate:1",
 *   terms: { limit: 3, windowMs: 1_000, jitterMs: 75, dailyStop: null, dailyPacing: false },
 *   want: [{ n: 2, withinMs: 1_000, cost: 1, picks: [{ bucket: "b", target: "t", penaltyMs: 0 }] }],
 *   settle: [],
 *   arrived: 2,
 *   since: 0,
 *   leadMs: 0,
 *   skewMs: 0,
 *   dice: 0.5,
 * });
 * // Two calls, far enough apart that no second ever counts more than three.
 * console.assert(leases.length === 2);
 * ```
 */
export function memoryLedger(now: () => number): Ledger {
  const pools = new Map<string, MemoryPool>();
  return {
    exchange(pool: string, request: ExchangeRequest): ExchangeReply {
      let rows = pools.get(pool);
      if (rows === undefined) pools.set(pool, (rows = new MemoryPool()));
      return rows.exchange(request, now());
    },
  };
}
