import type { Clock } from "../../../src/ports/clock.ts";

/** How much of the virtual time was used; all zero means that the work has its time from elsewhere. */
export interface VirtualUse {
  timers: number;
  reads: number;
}

/** What stands in for Node's timer object. */
interface VirtualTimer {
  ref(): VirtualTimer;
  unref(): VirtualTimer;
  hasRef(): boolean;
  cancel(): void;
}

type Callback = (...args: unknown[]) => void;

/**
 * Runs `work` while the global timers, `Date.now` and `performance.now` follow the given clock: for code that takes its
 * time from the globals. `new Date()` without an argument stays real.
 */
export async function withVirtualGlobals<T>(clock: Clock, work: (use: VirtualUse) => Promise<T>): Promise<T> {
  const use: VirtualUse = { timers: 0, reads: 0 };
  const start = clock.now();
  const arm = (run: () => void, ms: number): VirtualTimer => {
    use.timers++;
    const cancel = clock.after(Math.max(1, Number.isNaN(ms) ? 1 : ms), run);
    const timer: VirtualTimer = { ref: () => timer, unref: () => timer, hasRef: () => true, cancel };
    return timer;
  };
  const read = (value: number): number => {
    use.reads++;
    return value;
  };
  const disarm = (timer?: VirtualTimer): void => timer?.cancel();
  const restore = [
    replace(globalThis, "setTimeout", (run: Callback, ms = 1, ...args: unknown[]) => arm(() => run(...args), ms)),
    replace(globalThis, "setInterval", (run: Callback, ms = 1, ...args: unknown[]) => {
      let current: VirtualTimer;
      const again = (): void => {
        current = arm(again, ms);
        run(...args);
      };
      current = arm(again, ms);
      const timer: VirtualTimer = {
        ref: () => timer,
        unref: () => timer,
        hasRef: () => true,
        cancel: () => current.cancel(),
      };
      return timer;
    }),
    replace(globalThis, "clearTimeout", disarm),
    replace(globalThis, "clearInterval", disarm),
    // Whole milliseconds, as the real one.
    replace(Date, "now", () => read(Math.floor(clock.now()))),
    replace(performance, "now", () => read(clock.now() - start)),
  ];
  try {
    return await work(use);
  } finally {
    for (const back of restore) back();
  }
}

function replace(owner: object, name: string, value: (...args: never[]) => unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value, configurable: true, writable: true, enumerable: true });
  return () => {
    if (before === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, before);
  };
}
