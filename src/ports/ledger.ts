import type { BucketState, Suspicion, TargetState } from "./state.ts";

/** How the upstream counts; the same for all buckets of a pool. Rates are calls (or cost units) per second. */
export interface BucketTerms {
  /** Configured ceiling per bucket, calls per second. Learnt ceilings move below it, or above on an explicit statement. */
  readonly limit: number;
  /** Length of the upstream's counting window. */
  readonly windowMs: number;
  /** Largest expected variation of the delay between dispatch and being counted. */
  readonly jitterMs: number;
  /** Calls per UTC day at which a bucket stops; null where the upstream has no daily quota. */
  readonly dailyStop: number | null;
  /** Spreads the day's quota over the day instead of spending it as fast as the second allows. */
  readonly dailyPacing: boolean;
}

/** One place where a wanted call may go. */
export interface Pick {
  readonly bucket: string;
  readonly target: string;
  /** Milliseconds that the caller would rather wait than use this target instead of one with penalty 0. */
  readonly penaltyMs: number;
  /** Asks for the single-owner probe of a sick target; refused when it is not due. */
  readonly probe?: boolean;
}

export interface Want {
  /** How many slots. */
  readonly n: number;
  /** Latest useful start, milliseconds from the ledger's now. */
  readonly withinMs: number;
  /** Units that one call costs; 1 for plain calls. */
  readonly cost: number;
  /** In order of preference: the ledger takes the lowest start + penalty, the first on a tie. */
  readonly picks: readonly Pick[];
  /** One last-resort slot in spite of a cooldown. Never in spite of a disabled target or a spent day. */
  readonly ignoreCooldown?: boolean;
}

/** What became of one slot. Effects are relative to the ledger's now; the ledger merges them, never shortens. */
export interface Settlement {
  readonly bucket: string;
  readonly target: string;
  /** Epoch milliseconds (ledger time) of the slot. */
  readonly at: number;
  /** The bucket's epoch when the slot was granted. */
  readonly epoch: number;
  /**
   * `unused`: never sent. `neutral`: answered, but the answer says nothing about the target's health.
   * `none`: only the effects below count (a call whose client left, or news about a neighbour).
   */
  readonly outcome: "ok" | "neutral" | "refused" | "failed" | "unused" | "none";
  /** Verdict class of a bad outcome, for stats. */
  readonly error?: string;
  /** Cool the target or its whole bucket. */
  readonly cool?: { readonly what: "target" | "bucket"; readonly ms: number; readonly reason: string };
  /** Exponential back-off of the target: base × 2^(failures in a row), capped. */
  readonly backoff?: { readonly baseMs: number; readonly capMs: number; readonly reason: string };
  /** Ceiling that the upstream stated in a per-second refusal, calls per second; 0 in a refusal that states none. */
  readonly observedLimit?: number;
  /** Park the bucket until 00:00 UTC. */
  readonly parkDay?: boolean;
  readonly disable?: string;
  /** The target cannot serve requests with this need for a while. */
  readonly cannot?: { readonly need: string; readonly ms: number };
  /** Units to add to (or give back from) the cost that was reserved. */
  readonly costDelta?: number;
  /** The slot was granted by the isolate itself while the ledger was out of reach: it is in none of its counts yet. */
  readonly standIn?: true;
}

/** An operator's decision about a target. */
export interface Order {
  readonly target: string;
  readonly action: "enable" | "disable";
}

export interface ExchangeRequest {
  /** `<client>:<sequence>`, the sequence rising by one. A repeated id settles nothing twice. */
  readonly id: string;
  readonly terms: BucketTerms;
  readonly settle: readonly Settlement[];
  readonly want: readonly Want[];
  readonly orders?: readonly Order[];
  /** Calls that arrived at this client since its last exchange: the fleet's demand is measured from these. */
  readonly arrived: number;
  /** Version up to which the client knows the state; 0 asks for everything. */
  readonly since: number;
  /** How far ahead a slot must lie to be usable when the reply arrives (half the client's round trip and more). */
  readonly leadMs: number;
  /** Uncertainty of the client's mapping of ledger time (half its fastest round trip). */
  readonly skewMs: number;
  /** The client's roll of the dice in [0, 1), so that the ledger's decision is a pure function. */
  readonly dice: number;
}

export interface Lease {
  /** Index into the request's `want`. */
  readonly want: number;
  readonly bucket: string;
  readonly target: string;
  /** Epoch milliseconds, ledger time: the call may leave then, and at most 15 ms later. */
  readonly at: number;
  readonly epoch: number;
  readonly probe: boolean;
}

/** Rows that changed after the request's `since`, by id. */
export interface Changes {
  readonly buckets: Readonly<Record<string, BucketState>>;
  readonly targets: Readonly<Record<string, TargetState>>;
}

export interface ExchangeReply {
  readonly leases: readonly Lease[];
  /** Per `want`: when asking again is worth while (epoch ms, ledger time), 0 when it was filled. */
  readonly retryAt: readonly number[];
  readonly changes: Changes;
  /** The state's version that `changes` brings the client to. */
  readonly version: number;
  /** Ledger time, epoch milliseconds. */
  readonly now: number;
  /** Calls per second that the fleet was asked for in the last seconds. */
  readonly demand: number;
  /** Clients seen in the last half minute. */
  readonly clients: number;
  readonly suspicions: readonly Suspicion[];
}

/**
 * The strongly consistent state of one or more pools: every exchange is atomic and sees all earlier ones.
 * An embedded store answers at once (no promise), which keeps a call's road free of awaits.
 */
export interface Ledger {
  exchange(pool: string, request: ExchangeRequest): ExchangeReply | Promise<ExchangeReply>;
  /** Forgets rows that nobody has used for long; returns how many. A store that does so by itself has none. */
  sweep?(pool: string): number | Promise<number>;
  close?(): void | Promise<void>;
}
