/**
 * Time and chance, injected: nothing in `src` reads an ambient clock or an ambient source of randomness.
 * `now` may stand still between I/O (Workers), so stamp after a timer has fired, not before.
 */
export interface Clock {
  /** Epoch milliseconds; fractions are allowed. */
  now(): number;
  /** Runs `run` once, not before `ms` have passed. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
  /** A number in [0, 1). */
  random(): number;
}
