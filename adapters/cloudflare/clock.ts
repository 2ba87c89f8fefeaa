import type { Background, Clock } from "../../src/index.ts";

/** A timer this late has lost the request that set it. */
const OVERDUE_MS = 60;
/** How often a waiting request looks for such timers. */
const LOOK_MS = 100;
/** Platforms count a timer's milliseconds in 32 bits. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export interface WorkerClock extends Clock {
  /** To be called when a request arrives: while it is under way, it also runs what others' timers left undone. */
  watch(): () => void;
}

interface Timer {
  readonly dueAt: number;
  readonly run: () => void;
}

/**
 * The clock of a Worker's isolate. A timer there belongs to the request that set it and dies with it, but the pool is
 * everybody's: so a timer keeps its request alive, and should that fail, the next request that looks runs it.
 */
export function workerClock(background: Background): WorkerClock {
  const timers = new Set<Timer>();
  const now = (): number => Date.now();
  const run = (timer: Timer): void => {
    if (timers.delete(timer)) timer.run();
  };

  /** Arms it in the request that is under way, which `end` lets go. Gives the handle. */
  const arm = (timer: Timer, end: () => void, armed: (handle: ReturnType<typeof setTimeout>) => void): void => {
    const ring = (): void => {
      // The clock has the last word: it may have stood still while the timer ran down.
      if (timers.has(timer) && now() < timer.dueAt) return arm(timer, end, armed);
      end();
      run(timer);
    };
    armed(setTimeout(ring, Math.min(Math.max(0, Math.ceil(timer.dueAt - now())), TIMER_MAX_MS)));
  };

  const look = (): void => {
    const late = now() - OVERDUE_MS;
    const lost = [...timers].filter(({ dueAt }) => dueAt < late).sort((a, b) => a.dueAt - b.dueAt);
    // Each in a turn of its own: one that throws stops no other.
    for (const timer of lost) setTimeout(() => run(timer), 0);
  };

  return {
    now,
    random: () => Math.random(),
    after(ms: number, work: () => void): () => void {
      const timer: Timer = { dueAt: now() + ms, run: work };
      let end = (): void => {};
      timers.add(timer);
      background.waitUntil(new Promise<void>((resolve) => (end = resolve)));
      let handle: ReturnType<typeof setTimeout> | undefined;
      arm(timer, end, (armed) => (handle = armed));
      return () => {
        if (!timers.delete(timer)) return;
        // Without effect on the timer of another request, which then finds nothing to run.
        clearTimeout(handle);
        end();
      };
    },
    watch(): () => void {
      look();
      const interval = setInterval(look, LOOK_MS);
      return () => clearInterval(interval);
    },
  };
}
