/** Bounds of the time-out of one exchange; the upper one is also what a repetition gets. */
const TIMEOUT_MIN_MS = 150;
export const TIMEOUT_MAX_MS = 1_000;
/** Round trips have a mean and a mean deviation that forget with this weight (as TCP's do) … */
const WEIGHT = 1 / 8;
/** … and no answer in the mean and so many deviations is none. */
const TIMEOUT_DEVIATIONS = 4;
/** A slot must lie so many deviations beyond the usual way back to be usable when the reply arrives. */
const LEAD_DEVIATIONS = 2;
/** From a ledger so near a slot of this very moment arrives in time: it may be later than this. */
const NEAR_MS = 4;
/** How far two clocks that are kept by time servers drift apart in a millisecond: 20 ppm. */
const DRIFT = 0.00002;
/** Clocks tell whole milliseconds. */
const GRAIN_MS = 1;
/** What is left of the doubt about the mapping when another exchange has agreed with it. */
const DOUBT_KEPT = 0.5;
/** A reading this much earlier than the one before is a clock that was set back. */
const STEP_BACK_MS = 5_000;

/** A mean and its mean deviation, both of the recent past. */
class Average {
  mean: number = 0;
  deviation: number = 0;
  #isNew = true;

  add(value: number): void {
    if (this.#isNew) [this.mean, this.deviation] = [value, value / 2];
    else this.deviation += (Math.abs(value - this.mean) - this.deviation) * WEIGHT;
    this.mean += (value - this.mean) * WEIGHT;
    this.#isNew = false;
  }
}

/**
 * The ledger's time as an isolate knows it, and how far away the ledger is. Every exchange bounds the difference of the
 * clocks from both sides: the ledger read its clock after the request left and before the reply came. The fastest way
 * there and the fastest way back of the recent past, not necessarily of one exchange, bound it best.
 */
export class LedgerTime {
  #offset = 0;
  #low = -Infinity;
  #high = Infinity;
  #boundedAt = 0;
  #skewMs = 0;
  /** The latest reading of our own clock. */
  #clock = -Infinity;
  readonly #trip = new Average();
  readonly #back = new Average();

  /** The ledger's time when our own clock shows `clock`, epoch ms. */
  at(clock: number): number {
    // A clock set back must not make all that lies ahead unreachable: the ledger's time does not follow it either.
    if (clock < this.#clock - STEP_BACK_MS) this.#shift(this.#clock - clock);
    this.#clock = clock;
    return clock + this.#offset;
  }

  /** What our clock must show for the ledger's to be at `ledger`, and the other way round. */
  get offset(): number {
    return this.#offset;
  }

  /** Enters an exchange: by our clock it took from `start` to `end`, and the ledger's showed `ledger` in between. */
  measure(start: number, end: number, ledger: number): void {
    const age = Math.max(0, end - this.#boundedAt) * DRIFT;
    const isFirst = this.#low === -Infinity;
    const low = ledger - end;
    const high = ledger - start;
    this.#low = Math.max(this.#low - age, low);
    this.#high = Math.min(this.#high + age, high);
    this.#boundedAt = end;
    // What no delay, no drift and no rounding explains is a clock that was set: the old bounds are worth nothing then.
    const isNew = isFirst || this.#low > this.#high + GRAIN_MS;
    if (isNew) [this.#low, this.#high] = [low, high];
    const offset = (this.#low + this.#high) / 2;
    this.#skewMs = isNew ? (high - low) / 2 : Math.max(Math.abs(offset - this.#offset), this.#skewMs * DOUBT_KEPT);
    this.#offset = offset;
    this.#trip.add(end - start);
    this.#back.add(Math.max(0, end + this.#offset - ledger));
  }

  /** Enters an exchange that took no time: our clock showed `clock` and the ledger's `ledger`. */
  meet(clock: number, ledger: number): void {
    // Both read one clock, between whose ticks they may fall.
    const apart = ledger - clock;
    this.#offset = Math.abs(apart) <= GRAIN_MS ? 0 : apart;
    this.#low = this.#high = this.#offset;
    this.#boundedAt = clock;
  }

  /** How long an answer is waited for before the exchange is repeated. */
  get timeoutMs(): number {
    if (this.#low === -Infinity) return TIMEOUT_MAX_MS;
    const fastest = this.#high - this.#low;
    const usual = this.#trip.mean + TIMEOUT_DEVIATIONS * this.#trip.deviation;
    return Math.min(TIMEOUT_MAX_MS, Math.max(TIMEOUT_MIN_MS, 4 * fastest, usual));
  }

  /** How far ahead a slot must lie, seen from the ledger, to be usable when the reply arrives. */
  get leadMs(): number {
    const lead = this.#back.mean + LEAD_DEVIATIONS * this.#back.deviation;
    return lead <= NEAR_MS ? 0 : lead;
  }

  /**
   * What our idea of the ledger's time may be wrong by: at first all that the bounds leave open, later as much as it
   * still moves. What is left then is the lasting difference between the ways, which is a part of `jitterMs`.
   */
  get skewMs(): number {
    return this.#skewMs;
  }

  #shift(ms: number): void {
    this.#offset += ms;
    this.#low += ms;
    this.#high += ms;
    this.#boundedAt -= ms;
  }
}
