import type { Clock } from "../../../src/ports/clock.ts";
import type { ExchangeRequest } from "../../../src/ports/ledger.ts";

/** Milliseconds that an exchange with a store takes on top of what it takes anyhow, drawn anew for each. */
export interface AddedDelay {
  readonly minMs: number;
  readonly maxMs: number;
}

/** Where a fleet spends its one bucket. */
export interface Site {
  readonly key: string;
  readonly baseUrl: string;
  readonly isolates: number;
  readonly addedDelay: AddedDelay | null;
}

/** What a fleet has spent so far. */
export interface Meter {
  /** Exchanges with a ledger, or questions to a limiter. */
  readonly decisions: number;
  /** What of it went over the wire. */
  readonly trips: number;
  /** Commands that the store has run, within scripts too; null where there are none. */
  readonly commands: number | null;
  readonly outages: number;
  /** Slots that the ledger granted and nobody used: an instant that passed before its call could leave. */
  readonly lapsed: number;
}

export interface Fleet {
  /** Lets the n-th isolate make a call; whether it was answered. */
  call(isolate: number, address: string): Promise<boolean>;
  meter(): Promise<Meter>;
  close(): Promise<void>;
}

/** A way of sharing one bucket among isolates. */
export interface Sharer {
  readonly limiter: string;
  readonly store: string;
  open(site: Site): Promise<Fleet>;
}

/** How many of the slots that an exchange settles were not used. */
export function lapsedIn({ settle }: ExchangeRequest): number {
  return settle.filter(({ outcome }) => outcome === "unused").length;
}

/** The header that tells the upstream when a call left. */
export const SENT_AT = "x-sent-at";

/** Puts a way to and from the store around each piece of work: half of the delay there, half of it back. */
export function fromAfar(
  clock: Pick<Clock, "after" | "random">,
  delay: AddedDelay | null,
): <Value>(work: () => Value | Promise<Value>) => Promise<Value> {
  return async (work) => {
    if (delay === null) return work();
    const halfMs = (delay.minMs + (delay.maxMs - delay.minMs) * clock.random()) / 2;
    const pass = (): Promise<void> => new Promise((resolve) => void clock.after(halfMs, resolve));
    await pass();
    const value = await work();
    await pass();
    return value;
  };
}
