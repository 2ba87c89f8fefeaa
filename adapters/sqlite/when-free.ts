import { errorCode } from "./error-code.ts";

/** How long a process waits for others' exchanges (each takes well under a millisecond). */
const BUSY_MS = 1_000;
const PAUSE_MS = 1;
/** The primary code; the bytes above it tell what kind of busy. */
const BUSY = 5;

const never = new Int32Array(new SharedArrayBuffer(4));

/**
 * Runs `run`, again and again for up to a second while another process holds the file. SQLite's own waiting sleeps
 * longer each time: among processes that exchange without pause one sleeper can starve for hundreds of milliseconds.
 */
export function whenFree<T>(run: () => T): T {
  const until = performance.now() + BUSY_MS;
  for (;;) {
    try {
      return run();
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
      Atomics.wait(never, 0, 0, PAUSE_MS);
    }
  }
}

export function isBusy(error: unknown): boolean {
  return ((errorCode(error) ?? 0) & 0xff) === BUSY;
}
