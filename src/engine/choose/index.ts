import { SluiceError } from "../../errors.ts";
import type { Strategy, StrategyName } from "../strategy.ts";
import { healthiest } from "./healthiest.ts";
import { priority } from "./priority.ts";
import { roundRobin } from "./round-robin.ts";

const STRATEGIES: Readonly<Record<StrategyName, Strategy>> = { healthiest, priority, round_robin: roundRobin };

/** The strategy of that name, or the given one itself. */
export function strategyOf(strategy: StrategyName | Strategy): Strategy {
  if (typeof strategy !== "string") return strategy;
  const known = STRATEGIES[strategy];
  if (known !== undefined) return known;
  const names = Object.keys(STRATEGIES).join(", ");
  throw new SluiceError("config_invalid", `strategy: "${String(strategy)}" is unknown; write one of ${names}.`);
}
