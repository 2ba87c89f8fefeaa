import type { Background, Clock } from "../../src/index.ts";

/** setTimeout counts its milliseconds in 32 bits and fires at once beyond them. */
const TIMER_MAX_MS = 2 ** 31 - 1;
/** A timer further ahead is no reason to keep a function running. */
const WAITED_FOR_MS = 5_000;

/**
 * The clock of a Vercel function, Node or Edge: web standards alone. An instance is frozen once it has answered, so a
 * timer that is due soon, such as the one that tells the ledger the outcome, keeps it running.
 */
export function functionClock(background: Background): Clock {
  return {
    now: () => Date.now(),
    after(ms: number, run: () => void): () => void {
      const due = performance.now() + ms;
      let timer: ReturnType<typeof setTimeout>;
      let end: () => void = () => {};
      const arm = (): void => {
        const left = Math.max(0, Math.ceil(due - performance.now()));
        timer = setTimeout(() => (performance.now() < due ? arm() : fire()), Math.min(left, TIMER_MAX_MS));
      };
      const fire = (): void => {
        end();
        run();
      };
      if (ms <= WAITED_FOR_MS) background.waitUntil(new Promise<void>((resolve) => (end = resolve)));
      arm();
      return () => {
        clearTimeout(timer);
        end();
      };
    },
    random: () => Math.random(),
  };
}
