import type { Strategy } from "../strategy.ts";

/** Fill first: the target with the lowest priority number that can take the call at once, the least recent on a tie. */
export const priority: Strategy = {
  name: "priority",
  penaltyMs: () => 0,
  /** Epoch milliseconds stay below 2^43, so that they never reach into the next priority. */
  rank: (target, state) => target.priority + (state === undefined ? 0 : state.lastAt) / 2 ** 43,
};
