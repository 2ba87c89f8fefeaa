import type { Clock } from "../../src/index.ts";

/** setTimeout counts its milliseconds in 32 bits and fires at once beyond them. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** The machine's clock. Timers are rounded up, since Node cuts fractions off and would fire early. */
export const nodeClock: Clock = {
  now: () => Date.now(),
  after(ms: number, run: () => void): () => void {
    const timer = setTimeout(run, Math.min(Math.ceil(ms), TIMER_MAX_MS));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
