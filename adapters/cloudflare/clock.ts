import type { Background, Clock } from "../../src/index.ts";

/** A timer this late has lost the request that set it. */
const OVERDUE_MS = 60;
/** How often a waiting request looks for such timers. */
const LOOK_MS = 100;

export interface WorkerClock extends Clock {
  /** To be called when a request arrives: while it is under way, it also runs what others' timers left undone. */
  watch(): () => void;
}

interface Timer {
  readonly dueAt: number;
  run(): void;
}

/**
 * The clock of a Worker's isolate. A timer there belongs to the request that set it and dies with it, but the pool is
 * everybody's: so a timer keeps its request alive, and should that fail, the next request that looks runs it.
 */
export function workerClock(background: Background): WorkerClock {
  const timers = new Set<Timer>();
  const now = () => Date.now();
  return {
    now,
    random: () => Math.random(),
    after(ms: number, run: () => void): () => void {
      let end: () => void = () => {};
      const timer: Timer = {
        dueAt: now() + ms,
        run() {
          if (!timers.delete(timer)) return;
          end();
          run();
        },
      };
      timers.add(timer);
      background.waitUntil(new Promise<void>((resolve) => (end = resolve)));
      setTimeout(() => timer.run(), Math.max(0, Math.ceil(ms)));
      return () => {
        // Not clearTimeout: it may be another request's by now.
        if (timers.delete(timer)) end();
      };
    },
    watch(): () => void {
      const interval = setInterval(() => {
        const late = now() - OVERDUE_MS;
        for (const timer of timers) if (timer.dueAt < late) timer.run();
      }, LOOK_MS);
      return () => clearInterval(interval);
    },
  };
}
