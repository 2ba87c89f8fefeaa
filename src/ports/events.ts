import type { VerdictClass } from "./verdict.ts";

/** What the gateway tells the outside, free of secrets: targets and buckets go by their ids, which are fingerprints. */
export type SluiceEvent = {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly upstream: string;
} & (
  | { readonly type: "config_warning"; readonly detail: string }
  | { readonly type: "target_disabled"; readonly target: string; readonly reason: string }
  | { readonly type: "target_enabled"; readonly target: string }
  | { readonly type: "target_cooled"; readonly target: string; readonly reason: string; readonly untilMs: number }
  | { readonly type: "bucket_cooled"; readonly bucket: string; readonly reason: string; readonly untilMs: number }
  | { readonly type: "limit_learned"; readonly bucket: string; readonly limit: number; readonly before: number }
  | { readonly type: "foreign_use"; readonly bucket: string; readonly share: number }
  | {
      readonly type: "group_suspected";
      readonly targets: readonly string[];
      readonly evidence: string;
      readonly setting: string;
    }
  | {
      readonly type: "call_failed";
      readonly code: string;
      readonly attempts: number;
      readonly class: VerdictClass | null;
    }
  | { readonly type: "ledger_down"; readonly detail: string }
  | { readonly type: "ledger_up"; readonly downMs: number }
  | { readonly type: "job_ended"; readonly job: string; readonly ok: boolean; readonly detail: string }
);

/** Takes events; never throws back at the caller. */
export interface Events {
  emit(event: SluiceEvent): void;
}
