import type { CallOptions, CallResult } from "./call.ts";
import type { UpstreamDefinition } from "./definition.ts";
import type { Protocol } from "./protocol.ts";
import type { UpstreamStats } from "./stats.ts";

/** What the HTTP face and callers in process see of one upstream. */
export interface Upstream<Call = unknown, Face extends object = object> {
  readonly name: string;
  readonly definition: UpstreamDefinition<Call, Face>;
  readonly protocol: Protocol<Call, Face>;
  /** Throws a SluiceError; `upstream_not_configured` when the definition's `missing` is set. */
  send(call: Call, options?: CallOptions): Promise<CallResult>;
  stats(): UpstreamStats;
  /** Calls per second that the living pool can carry; a group counts once. */
  capacity(): number;
  /** An operator's order about one target (by id); resolves when the ledger has it. Throws for an unknown target. */
  order(target: string, action: "enable" | "disable"): Promise<void>;
}
