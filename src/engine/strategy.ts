import type { TargetState } from "../ports/state.ts";
import type { Target } from "./target.ts";

export type StrategyName = "healthiest" | "round_robin" | "priority";

/** What a strategy may look at besides the target. */
export interface StrategyContext {
  /** Epoch milliseconds, ledger time. */
  readonly now: number;
  /** Whether the healthy targets can carry the demand of the last seconds. */
  readonly covered: boolean;
}

/** How a pool prefers its targets. Pure functions; `state` is undefined for a target that was never used. */
export interface Strategy {
  readonly name: string;
  /** Milliseconds of waiting that are better than using this target; 0 for a target that is as good as any. */
  penaltyMs(target: Target, state: TargetState | undefined, context: StrategyContext): number;
  /** Among targets of equal cost the lowest goes first. */
  rank(target: Target, state: TargetState | undefined, context: StrategyContext): number;
}
