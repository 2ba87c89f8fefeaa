import { waitUntil } from "cloudflare:workers";
import type { Background } from "../../src/index.ts";

/** The background of whichever request is under way. */
export const workerBackground: Background = {
  waitUntil(work: Promise<unknown>): void {
    const quiet = work.catch(() => {});
    try {
      waitUntil(quiet);
    } catch {
      // Outside of a request nothing can be kept alive.
    }
  },
};
