import type { Strategy, StrategyName } from "../../engine/strategy.ts";
import type { Events } from "../../ports/events.ts";
import type { Transport } from "../../ports/transport.ts";

/** What an operator may set for a pool of Etherscan keys. All have defaults; without keys the pool is off. */
export interface EtherscanOptions {
  /** The pool; a string is split at commas and white space. */
  readonly keys?: string | readonly string[] | undefined;
  /** As many as keys: the i-th key uses the i-th URL (before slicing). Fewer: spread over the keys. */
  readonly baseUrls?: string | readonly string[] | undefined;
  /** The keys this service may use, positions from 1: `"1-5"`, `"1,3,7"` or a mix. Default: all. */
  readonly slice?: string | undefined;
  /** Keys that the provider counts together: `"4-9"`, `"4-6;7,8"`, or lists of positions in the whole pool. */
  readonly groups?: string | readonly (readonly number[])[] | undefined;
  /** First ceiling per bucket, calls per second; recalibrated by what the upstream states. Default 3. */
  readonly callsPerSec?: number | undefined;
  /** Calls per bucket and UTC day; we stop at 95 %. null: no daily quota. Default 100 000. */
  readonly dailyCap?: number | null | undefined;
  /** Spreads the day's quota over the day. Default false. */
  readonly dailyPacing?: boolean | undefined;
  /** Length of the provider's counting window in milliseconds. Default 1000. */
  readonly windowMs?: number | undefined;
  /** Largest expected variation of the delay between sending and being counted, in milliseconds. Default 75. */
  readonly jitterMs?: number | undefined;
  /** Tries per call. Default 3. */
  readonly maxAttempts?: number | undefined;
  /** How long a call may wait for its slots, in milliseconds. Default 10 000. */
  readonly maxWaitMs?: number | undefined;
  /** Calls that may wait at once. Default 1000. */
  readonly maxQueue?: number | undefined;
  /** Time-out of one attempt in milliseconds. Default 30 000. */
  readonly timeoutMs?: number | undefined;
  /** Largest answer that is read, in bytes. Default 32 MiB. */
  readonly maxResponseBytes?: number | undefined;
  /** Default `healthiest`. */
  readonly strategy?: StrategyName | Strategy | undefined;
  /** The round trip; default the platform's. */
  readonly transport?: Transport | undefined;
  /** Gets this pool's events beside the platform's. */
  readonly onEvent?: Events["emit"] | undefined;
}
