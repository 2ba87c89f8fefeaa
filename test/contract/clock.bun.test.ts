import { bunClock } from "../../adapters/bun/index.ts";
import { clockContract } from "./clock.ts";

/** So late may a timer be on a busy machine before a test fails. */
const SLACK_MS = 40;

clockContract("Bun's", async () => ({
  clock: bunClock,
  pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms + SLACK_MS)),
  elapsed: () => performance.now(),
}));
