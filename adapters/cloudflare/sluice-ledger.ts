import { DurableObject } from "cloudflare:workers";
import type { ExchangeReply, ExchangeRequest } from "../../src/index.ts";
import { DurablePool } from "./durable-pool.ts";
import type { ObjectState } from "./object-state.ts";

/** The ledger of one pool as a Durable Object: one thread, one truth, for every isolate in every colo. */
export class SluiceLedger extends DurableObject {
  readonly #pool: DurablePool;

  constructor(ctx: ObjectState, env: unknown) {
    super(ctx, env);
    this.#pool = new DurablePool(ctx.storage, Date.now());
  }

  exchange(request: ExchangeRequest): ExchangeReply {
    return this.#pool.exchange(request, this.now());
  }

  /** Forgets rows that nobody has used for long; returns how many. */
  sweep(): number {
    return this.#pool.sweep(this.now());
  }

  alarm(): void {
    this.#pool.alarm(this.now());
  }

  /** The object's clock, epoch ms. */
  protected now(): number {
    return Date.now();
  }
}
