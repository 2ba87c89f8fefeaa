import type { PoolHead } from "../ports/state.ts";

/** Clocks of processes differ, and are set right, by as much as this: time stands still for that long. */
const HELD_MS = 5_000;
/** A greater step back is not followed: the ledger's time goes on from where it was, and comes back to the clock's by this much a second. */
const SLEW = 0.1;

/**
 * The ledger's time for a store's clock, both epoch ms. It never goes back, since instants granted before would be granted
 * again; and a clock that was an hour ahead for a moment must not stop the pool for that hour.
 */
export function tick(head: PoolHead, clock: number): Pick<PoolHead, "now" | "clock" | "ahead"> {
  const back = head.clock - clock;
  if (back > HELD_MS) return { now: head.now, clock, ahead: head.now - clock };
  const ahead = Math.max(0, head.ahead - SLEW * Math.max(0, -back));
  return { now: Math.max(head.now, clock + ahead), clock: Math.max(head.clock, clock), ahead };
}
