import type { Clock } from "../../src/index.ts";

/** setTimeout counts its milliseconds in 32 bits and fires at once beyond them. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** The machine's clock. A Bun process runs on between requests, so nothing has to be kept alive. */
export const bunClock: Clock = {
  now: () => Date.now(),
  after(ms: number, run: () => void): () => void {
    const due = performance.now() + ms;
    let timer: ReturnType<typeof setTimeout>;
    const arm = (): void => {
      const left = Math.max(0, Math.ceil(due - performance.now()));
      timer = setTimeout(() => (performance.now() < due ? arm() : run()), Math.min(left, TIMER_MAX_MS));
    };
    arm();
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
