import { type Clock, type Events, memoryLedger, type Platform, type Transport } from "../../src/index.ts";

export interface MemoryPlatformOptions {
  readonly clock: Clock;
  readonly transport: Transport;
  readonly events?: Events;
  readonly peer?: (request: Request) => string | undefined;
}

/** A platform that keeps everything in the process: for tests, and for a single short-lived process. */
export function memoryPlatform({ clock, transport, events, peer }: MemoryPlatformOptions): Platform {
  return {
    ledger: memoryLedger(() => clock.now()),
    clock,
    transport,
    events: events ?? { emit: () => {} },
    ...(peer === undefined ? {} : { peer }),
  };
}
