import type { Events } from "../ports/events.ts";
import type { BucketTerms } from "../ports/ledger.ts";
import type { Transport } from "../ports/transport.ts";
import type { Protocol } from "./protocol.ts";
import type { Strategy, StrategyName } from "./strategy.ts";
import type { Target } from "./target.ts";

/** One upstream, fully parsed: what a protocol's factory (`etherscan({...})`) returns and the engine runs. */
export interface UpstreamDefinition<Call = unknown, Face extends object = object> {
  readonly protocol: Protocol<Call, Face>;
  /** Empty when `missing` says what to set. */
  readonly targets: readonly Target[];
  readonly terms: BucketTerms;
  readonly strategy: StrategyName | Strategy;
  /** Tries per call; quota refusals that lead to an untried target are not counted. */
  readonly maxAttempts: number;
  /** How long one call may wait for slots, all its attempts together, in milliseconds. */
  readonly maxWaitMs: number;
  /** Calls that may wait at once. */
  readonly maxQueue: number;
  /** Time-out of one attempt, in milliseconds. */
  readonly timeoutMs: number;
  /** Largest answer that is read; a larger one is a failure of the request. */
  readonly maxResponseBytes: number;
  /** The setting without which this upstream does nothing (`ETHERSCAN_KEYS`), or null when it is configured. */
  readonly missing: string | null;
  /** Told at start and as `config_warning` events. */
  readonly warnings: readonly string[];
  /** The setting that would declare the targets at these 1-based positions one account (`ETHERSCAN_KEY_GROUPS=4,5,6`). */
  groupSetting(positions: readonly number[]): string;
  /** Every secret in the targets, for redaction. */
  readonly secrets: readonly string[];
  /** Overrides the platform's transport for this upstream. */
  readonly transport?: Transport | undefined;
  /** Gets this upstream's events beside the platform's. */
  readonly onEvent?: Events["emit"] | undefined;
}
