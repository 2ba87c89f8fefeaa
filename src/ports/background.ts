/**
 * Keeps the runtime alive until work that outlives the response is done (`waitUntil` on edge runtimes).
 * A rejection must not be lost: the implementation reports it and never throws back.
 */
export interface Background {
  run(work: Promise<unknown>): void;
}
