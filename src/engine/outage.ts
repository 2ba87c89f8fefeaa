import { gapAt } from "../ledger/bucket.ts";
import { HORIZON_MS } from "../ledger/exchange.ts";
import { MemoryPool } from "../ledger/memory-ledger.ts";
import { sliceTerms, stagger } from "../ledger/slice-ledger.ts";
import type { Clock } from "../ports/clock.ts";
import type { BucketTerms, Changes, ExchangeReply, Settlement, Want } from "../ports/ledger.ts";
import type { BucketState } from "../ports/state.ts";

/** While the store is down it is asked again this often at first, and at most this seldom. */
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 5_000;

export interface OutageOptions {
  readonly client: string;
  readonly terms: BucketTerms;
  readonly clock: Clock;
  /** The ledger's time as the isolate knows it, epoch ms. */
  readonly ledgerNow: () => number;
  /** The last number of clients that the store told, or the number that there may be. */
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
  readonly #terms: BucketTerms;
  readonly #standIn: MemoryPool;
  #retryAt: number;
  #waitMs = RETRY_MIN_MS;
  #sequence = 0;
  #settled: number;

  constructor(options: OutageOptions) {
    this.#options = options;
    this.since = options.clock.now();
    this.#retryAt = this.since + this.#waitMs;
    this.#terms = sliceTerms(options.terms, options.clients);
    this.#standIn = new MemoryPool(options.clients > 1 ? this.#staggered(options.seed) : options.seed);
    this.#settled = options.settled;
  }

  /**
   * Isolates lose a store together: each begins at a random point of its slice's gap, or all would call at once; and
   * only when the slots that others hold already lie behind.
   */
  #staggered({ buckets, targets }: Changes): Changes {
    const { clock, ledgerNow } = this.#options;
    const from = ledgerNow() + HORIZON_MS;
    const phase = (row: BucketState): BucketState => ({
      ...row,
      tat: Math.max(row.tat, from + clock.random() * gapAt(row, this.#terms, from)),
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
    const { client, clock, clients, ledgerNow } = this.#options;
    const now = ledgerNow();
    if (clients > 1) stagger(this.#standIn, { want }, this.#terms, now, () => clock.random());
    const settle = pending.slice(this.#settled).map(withoutMark);
    this.#settled = pending.length;
    const request = {
      id: `${client}:${++this.#sequence}`,
      terms: this.#terms,
      settle,
      want,
      arrived: 0,
      since: 0,
      leadMs: 0,
      skewMs: 0,
      dice: clock.random(),
    };
    return this.#standIn.exchange(request, now);
  }

  /** `count` pending settlements after the first `kept` were given up. */
  dropped(kept: number, count: number): void {
    this.#settled = Math.max(kept, this.#settled - count);
  }
}

/** The stand-in has counted its own slots; to the store they are news. */
export function withoutMark({ standIn: _, ...item }: Settlement): Settlement {
  return item;
}
