import { sickness, SICK_ABOVE } from "../../ledger/health.ts";
import { sum } from "../../ledger/window.ts";
import type { Strategy } from "../strategy.ts";

/** How long a healthy target is waited for while the healthy ones can carry the demand. */
const PREFER_HEALTHY_MS = 1_500;
/** What a certain refusal is worth in waiting, where they cannot: fills the least sick first without building a queue. */
const REFUSAL_WORTH_MS = 2_500;

/** The healthiest target, then the least used in 5 minutes, then in 15. A sick target is overflow, not a peer. */
export const healthiest: Strategy = {
  name: "healthiest",
  penaltyMs(_target, state, { now, covered }) {
    const sick = state === undefined ? 0 : sickness(state.health, now);
    if (sick <= SICK_ABOVE) return 0;
    return (covered ? PREFER_HEALTHY_MS : 0) + sick * REFUSAL_WORTH_MS;
  },
  rank(_target, state, { now }) {
    return state === undefined ? 0 : sum(state.window, "used", now, 5) + sum(state.window, "used", now, 15) / 1e6;
  },
};
