import { nodeClock } from "../../adapters/node/clock.ts";
import type { Clock } from "../../src/ports/clock.ts";
import { realClock } from "../fixtures/real-clock.ts";
import { type ClockUnderTest, clockContract } from "./clock.ts";

/** So late may a timer be on a busy machine before a test fails. */
const SLACK_MS = 40;

const onMachine = (clock: Clock): ClockUnderTest => ({
  clock,
  pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms + SLACK_MS)),
  elapsed: () => performance.now(),
});

clockContract("Node's", async () => onMachine(nodeClock));
clockContract("the tests' own real one", async () => onMachine(realClock));
