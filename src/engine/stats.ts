import type { SuspectedGroup } from "./suspected-group.ts";

/** What operators see of one target. Times are epoch milliseconds; nothing here is secret. */
export interface TargetStats {
  readonly id: string;
  readonly bucket: string;
  /** 1-based place in the operator's list. */
  readonly position: number;
  /** Calls per second of its bucket now: the ceiling, and what we allow ourselves of it. */
  readonly limit: number;
  readonly limitSource: "configured" | "observed" | "probe";
  readonly pace: number;
  readonly foreignUse: boolean;
  readonly used5m: number;
  readonly used15m: number;
  readonly failed5m: number;
  readonly today: number;
  readonly bucketToday: number;
  readonly dailyStop: number | null;
  /** 0 = well, 1 = every call fails, as far as the recent answers tell. */
  readonly sickness: number;
  readonly cooldownMs: number;
  readonly state: "ready" | "cooling" | "parked" | "disabled";
  readonly why: string | null;
  readonly ok: number;
  readonly failed: number;
  readonly lastError: string | null;
}

export interface UpstreamStats {
  readonly upstream: string;
  readonly protocol: string;
  readonly strategy: string;
  /** The setting that is missing, or null. */
  readonly missing: string | null;
  /** Theoretical rate of the living pool, calls per second; a group counts once. */
  readonly capacity: number;
  /** Calls per second that the fleet was asked for in the last seconds. */
  readonly demand: number;
  readonly queued: number;
  readonly inFlight: number;
  /** Slots in hand that no call has used yet. */
  readonly slots: number;
  readonly clients: number;
  readonly calls: { readonly ok: number; readonly failed: number; readonly attempts: number; readonly refused: number };
  readonly suspectedGroups: readonly SuspectedGroup[];
  readonly targets: readonly TargetStats[];
}
