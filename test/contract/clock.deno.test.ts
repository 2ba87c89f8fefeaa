import { denoClock } from "../../adapters/deno/index.ts";
import { clockContract } from "./clock.ts";

/** So late may a timer be on a busy machine before a test fails. */
const SLACK_MS = 40;

clockContract("Deno's", async () => ({
  clock: denoClock,
  pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms + SLACK_MS)),
  elapsed: () => performance.now(),
}));
