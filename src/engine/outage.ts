import { gapAt } from "../ledger/bucket.ts";
import { memoryLedger } from "../ledger/memory-ledger.ts";
import type { Clock } from "../ports/clock.ts";
import type { BucketTerms, Changes, ExchangeReply, Ledger, Settlement, Want } from "../ports/ledger.ts";
import type { BucketState } from "../ports/state.ts";

/** While the store is down it is asked again this often at first, and at most this seldom. */
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 5_000;
/** Part of our slice of the fleet that is spent meanwhile. */
const SLICE_FACTOR = 0.5;

export interface OutageOptions {
  readonly pool: string;
  readonly client: string;
  readonly terms: BucketTerms;
  readonly clock: Clock;
  /** The ledger's time as the isolate knows it, epoch ms. */
  readonly ledgerNow: () => number;
  /** The last number of clients that the store told. */
  readonly clients: number;
  /** The isolate's own copy of the rows. */
  readonly seed: Changes;
  /** How many of the pending settlements the seed knows already. */
  readonly settled: number;
}

/** A time in which the store does not answer: a ledger in memory stands in, at half of our share of each ceiling. */
export class Outage {
  /** By the isolate's clock, epoch ms. */
  readonly since: number;
  readonly #options: OutageOptions;
  readonly #standIn: Ledger;
  #retryAt: number;
  #waitMs = RETRY_MIN_MS;
  #sequence = 0;
  #settled: number;

  constructor(options: OutageOptions) {
    this.#options = options;
    this.since = options.clock.now();
    this.#retryAt = this.since + this.#waitMs;
    this.#standIn = memoryLedger(options.ledgerNow, this.#staggered(options.seed));
    this.#settled = options.settled;
  }

  /** Isolates lose a store together: each begins at a random point of its slice's gap, or all would call at once. */
  #staggered({ buckets, targets }: Changes): Changes {
    const { clock, ledgerNow } = this.#options;
    const now = ledgerNow();
    const slice = this.#slice();
    const phase = (row: BucketState): BucketState => ({
      ...row,
      tat: Math.max(row.tat, now + clock.random() * gapAt(row, slice, now)),
    });
    return { buckets: Object.fromEntries(Object.entries(buckets).map(([id, row]) => [id, phase(row)])), targets };
  }

  /** When the store is asked again, by the isolate's clock, epoch ms. */
  get retryAt(): number {
    return this.#retryAt;
  }

  /** The store did not answer this time either. */
  lengthen(): void {
    this.#waitMs = Math.min(RETRY_MAX_MS, this.#waitMs * 2);
    this.#retryAt = this.#options.clock.now() + this.#waitMs;
  }

  /** What the stand-in grants, once it has heard what is new in `pending`. */
  exchange(want: readonly Want[], pending: readonly Settlement[]): ExchangeReply {
    const { pool, client, clock } = this.#options;
    const settle = pending.slice(this.#settled).map(withoutMark);
    this.#settled = pending.length;
    // A ledger in memory answers at once.
    return this.#standIn.exchange(pool, {
      id: `${client}:${++this.#sequence}`,
      terms: this.#slice(),
      settle,
      want,
      arrived: 0,
      since: 0,
      leadMs: 0,
      skewMs: 0,
      dice: clock.random(),
    }) as ExchangeReply;
  }

  /** `count` pending settlements after the first `kept` were given up. */
  dropped(kept: number, count: number): void {
    this.#settled = Math.max(kept, this.#settled - count);
  }

  /**
   * Terms by which every bucket is spent at our part f·N/M of its pace. The guard is widened, not the ceiling lowered:
   * what the upstream states is measured by the true one.
   */
  #slice(): BucketTerms {
    const { terms, clients } = this.#options;
    const span = ((terms.windowMs + terms.jitterMs) * Math.max(1, clients)) / SLICE_FACTOR;
    return { ...terms, jitterMs: span - terms.windowMs };
  }
}

/** The stand-in has counted its own slots; to the store they are news. */
export function withoutMark({ standIn: _, ...item }: Settlement): Settlement {
  return item;
}
