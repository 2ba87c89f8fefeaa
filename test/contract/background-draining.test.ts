import type { Background } from "../../src/ports/background.ts";
import { type BackgroundUnderTest, backgroundContract } from "./background.ts";

// The two kinds that platforms have, at their smallest. Each platform's own runs the contract where it is.

/** Of a process that ends when all is done. */
function drainingBackground(): BackgroundUnderTest {
  const running = new Set<Promise<void>>();
  const background: Background = {
    waitUntil(work) {
      const end = (): void => void running.delete(settled);
      const settled: Promise<void> = work.then(end, end);
      running.add(settled);
    },
  };
  const drain = async (): Promise<void> => {
    while (running.size > 0) await Promise.all(running);
  };
  return { background, drain };
}

backgroundContract("one that drains", async () => drainingBackground());
backgroundContract("one whose platform waits unseen", async () => ({
  background: { waitUntil: (work) => void work.catch(() => undefined) },
}));
