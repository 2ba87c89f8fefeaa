import type { PoolHead } from "../../src/index.ts";

/** What we run ahead of our own clock for others' sake is given up by this much a second, or it would never end … */
const SLEW = 0.01;
/** … and sooner where no two clocks that are kept right can differ so. */
const WRONG_MS = 5_000;
const WRONG_SLEW = 0.1;

/**
 * One time for machines that share a store without a clock. Each reads its own, and follows whoever is ahead: what a pool's
 * head was written with was somebody's now. So all agree, but for how long ago the latest of the one ahead was.
 */
export class FleetClock {
  readonly #now: () => number;
  #ahead = 0;
  #readAt = 0;

  /** `now`: this machine's clock, epoch ms. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The fleet's time, epoch ms, for an exchange on a pool with this head. */
  read(head: PoolHead): number {
    const own = this.#now();
    const slew = this.#ahead > WRONG_MS ? WRONG_SLEW : SLEW;
    const slewed = this.#ahead - slew * Math.max(0, own - this.#readAt);
    this.#readAt = own;
    this.#ahead = Math.max(0, slewed, head.clock - own);
    return own + this.#ahead;
  }
}
