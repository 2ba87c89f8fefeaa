import { SluiceError } from "../../errors.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { isNumberIn, type NumberBounds } from "../../lib/number-in-range.ts";
import type { Strategy, StrategyName } from "../../engine/strategy.ts";
import type { EtherscanOptions } from "./options.ts";

type NumericOption =
  | "callsPerSec"
  | "dailyCap"
  | "windowMs"
  | "jitterMs"
  | "maxAttempts"
  | "maxWaitMs"
  | "maxQueue"
  | "timeoutMs"
  | "maxResponseBytes";

const DAY_MS = 86_400_000;
const NUMBERS: Readonly<Record<NumericOption, NumberBounds & { readonly otherwise: number }>> = {
  callsPerSec: { otherwise: 3, min: 0.01, max: 10_000 },
  dailyCap: { otherwise: 100_000, min: 1, max: 1e12, integer: true },
  windowMs: { otherwise: 1000, min: 1, max: DAY_MS, integer: true },
  jitterMs: { otherwise: 75, min: 0, max: 60_000 },
  maxAttempts: { otherwise: 3, min: 1, max: 100, integer: true },
  maxWaitMs: { otherwise: 10_000, min: 0, max: DAY_MS },
  maxQueue: { otherwise: 1000, min: 0, max: 1_000_000, integer: true },
  timeoutMs: { otherwise: 30_000, min: 1, max: DAY_MS },
  maxResponseBytes: { otherwise: 32 * 1024 * 1024, min: 1, max: 2 ** 31, integer: true },
};
const STRATEGIES: readonly StrategyName[] = ["healthiest", "round_robin", "priority"];

/** A numeric option or its default. Throws `config_invalid` with the bounds. */
export function numberOption(options: EtherscanOptions, name: NumericOption): number {
  const bounds = NUMBERS[name];
  const value: unknown = options[name];
  if (value === undefined) return bounds.otherwise;
  if (isNumberIn(value, bounds)) return value;
  const kind = bounds.integer === true ? "a whole number" : "a number";
  throw new SluiceError(
    "config_invalid",
    `${name} is ${shown(value)}; write ${kind} from ${bounds.min} to ${bounds.max} (default ${bounds.otherwise}).`,
  );
}

/** A yes-or-no option. Throws `config_invalid`. */
export function booleanOption(value: unknown, name: string, otherwise: boolean): boolean {
  if (value === undefined) return otherwise;
  if (typeof value === "boolean") return value;
  throw new SluiceError("config_invalid", `${name} is ${shown(value)}; write true or false.`);
}

/** The strategy's name or the strategy itself. Throws `config_invalid`. */
export function strategyOption(value: StrategyName | Strategy | undefined): StrategyName | Strategy {
  if (value === undefined) return "healthiest";
  const known = STRATEGIES.some((name) => name === value);
  if (known || (typeof value === "object" && value !== null && typeof value.rank === "function")) return value;
  throw new SluiceError("config_invalid", `strategy is ${shown(value)}; write ${STRATEGIES.join(", ")} or a Strategy.`);
}

/** A wrong value without its text, which could be a key that slipped into the wrong setting. */
function shown(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean" || value === null) return String(value);
  return typeof value === "string" ? `text (fingerprint ${fingerprint(value)})` : `of type ${typeof value}`;
}
