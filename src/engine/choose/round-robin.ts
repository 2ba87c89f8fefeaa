import type { Strategy } from "../strategy.ts";

/** Every target in turn, whatever its health; cooldowns and ceilings hold all the same. */
export const roundRobin: Strategy = {
  name: "round_robin",
  penaltyMs: () => 0,
  rank: (_target, state) => (state === undefined ? 0 : state.lastAt),
};
