import type { Background } from "./background.ts";
import type { Clock } from "./clock.ts";
import type { Events } from "./events.ts";
import type { Kv } from "./kv.ts";
import type { Ledger } from "./ledger.ts";
import type { Transport } from "./transport.ts";

/** The bundle of ports that an adapter hands to the core. */
export interface Platform {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly transport: Transport;
  readonly events: Events;
  readonly kv?: Kv | undefined;
  /** Absent where the process runs on between requests. */
  readonly background?: Background | undefined;
  /** How many isolates there may be, for the time before the ledger has told (1). */
  readonly isolates?: number | undefined;
  /** What the operator should know of this deployment: told as `config_warning` events at start. */
  readonly warnings?: readonly string[] | undefined;
  /** How a setting is set here, for messages: `wrangler secret put SLUICE_TOKENS`. Left out: as a variable of the process. */
  howToSet?(setting: string): string;
  /** The peer's address as the adapter itself sees it, never taken from a header; undefined where it is unknown. */
  peer?(request: Request): string | undefined;
  /** Gets what was thrown where nothing should be; may hold secrets, so redact before showing it. */
  report?(thrown: unknown, requestId: string): void;
}
