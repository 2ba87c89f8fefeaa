/**
 * What keeps traffic from a bucket or a target. A cooldown that ends is not the end: one probe goes first,
 * then half the rate for two windows, then all of it.
 */
export type Gate =
  | { readonly kind: "open" }
  /** `ramp`: whether the return goes by a probe and half the rate (long cooldowns) or at once (the one second of a refusal). */
  | { readonly kind: "cooling"; readonly until: number; readonly reason: string; readonly ramp: boolean }
  /** One client owns the probe; a probe whose result never came is lost at `until`. */
  | { readonly kind: "probing"; readonly owner: string; readonly until: number; readonly reason: string }
  | { readonly kind: "ramping"; readonly until: number };

/** Calls and failures in slices of 30 s, newest first; 30 slices are 15 minutes. */
export interface UseWindow {
  /** Number of the newest slice: floor(epoch ms / 30 000). */
  readonly slice: number;
  readonly used: readonly number[];
  readonly failed: readonly number[];
}

/** Counts of calls and failures that fade, for judging how sick a target is. */
export interface HealthState {
  readonly tries: number;
  readonly fails: number;
  /** When the two were last faded, epoch ms. */
  readonly at: number;
  /** Good answers since the last failure. */
  readonly streak: number;
  /** When the next probe of a sick target is due, epoch ms. */
  readonly probeAt: number;
}

/** Calls of one UTC day. */
export interface DayCount {
  /** floor(epoch ms / 86 400 000). */
  readonly day: number;
  readonly used: number;
  /** The upstream itself said that this day's quota is gone. */
  readonly spent?: true;
}

/** One account, organisation or endpoint: the unit that the upstream counts in. */
export interface BucketState {
  readonly version: number;
  /** Next free instant on the timeline, epoch ms. */
  readonly tat: number;
  /** The latest instant granted, epoch ms. */
  readonly last: number;
  /** Rises with every recalibration: older slots and older refusals are void. */
  readonly epoch: number;
  readonly gate: Gate;
  /** Ceiling in calls per second, and where it comes from. */
  readonly limit: number;
  readonly limitSource: "configured" | "observed" | "probe";
  /** When the ceiling may be probed upward next, epoch ms. */
  readonly raiseAt: number;
  /** Our part of the ceiling, in (0, 1]: below 1 somebody else spends this account too. */
  readonly share: number;
  readonly shareAt: number;
  readonly today: DayCount;
  /** Next instant by the day's own pace (`dailyPacing`). */
  readonly dayTat: number;
  /** The client that got the latest slot. */
  readonly holder: string;
  /** Returned slots in the future, ascending. */
  readonly free: readonly number[];
}

/** One credential at one base URL. */
export interface TargetState {
  readonly version: number;
  /** Why it is out for good (`key_invalid`, `operator`), or null. */
  readonly disabled: string | null;
  readonly gate: Gate;
  /** Failures in a row, for the back-off. */
  readonly strikes: number;
  readonly health: HealthState;
  readonly window: UseWindow;
  /** The latest instant granted, epoch ms. */
  readonly lastAt: number;
  readonly today: DayCount;
  readonly ok: number;
  readonly failed: number;
  readonly lastError: string | null;
  /** Needs that it cannot serve, each until an epoch ms. */
  readonly cannot: Readonly<Record<string, number>>;
}

/** Buckets whose refusals come together although each is within its own ceiling: probably one account. */
export interface Suspicion {
  readonly buckets: readonly string[];
  /** How long these and no others have been suspected, epoch ms. */
  readonly since: number;
  /** Calls of the others within the window before a refusal, and before any call, on average. */
  readonly before: number;
  readonly usual: number;
  /** Refusals that this rests on. */
  readonly refused: number;
}

/** What the ledger keeps of one client of a pool. */
export interface ClientState {
  readonly sequence: number;
  readonly seenAt: number;
}

/**
 * How the refusals of one bucket go with the use of another. `usual`: the other's calls within the window before one of
 * the bucket's latest calls, on average, and `square` the mean of their squares; `excess`: its calls before refusals
 * beyond the usual, all together, and `variance` that of chance.
 */
export type Partner = readonly [usual: number, square: number, excess: number, variance: number];

/** How the refusals of one bucket go with the use of the others (evidence for account groups). */
export interface Coincidence {
  readonly calls: number;
  readonly refused: number;
  readonly with: Readonly<Record<string, Partner>>;
}

/** The pool's own row. */
export interface PoolHead {
  readonly version: number;
  /** The ledger's own time, epoch ms: it never goes back. */
  readonly now: number;
  /** The latest reading of the store's clock, and how far the ledger's time is ahead of it since that clock went back. */
  readonly clock: number;
  readonly ahead: number;
  /** No slot before this instant, epoch ms: a store that lost what it had granted waits until all of that lies behind. */
  readonly restUntil: number;
  /** Arrivals that fade over some seconds, and when they were last faded. */
  readonly arrivals: number;
  readonly arrivalsAt: number;
  readonly clients: Readonly<Record<string, ClientState>>;
  /** The latest instants used, newest last, for `coincidences`. */
  readonly recent: readonly (readonly [bucket: string, at: number])[];
  readonly coincidences: Readonly<Record<string, Coincidence>>;
  readonly suspicions: readonly Suspicion[];
}
