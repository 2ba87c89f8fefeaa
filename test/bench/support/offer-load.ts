import type { Clock } from "../../../src/ports/clock.ts";

/** One call of the load; resolves whether it was answered. */
export type Arm = (address: string) => Promise<boolean>;

export interface Load {
  readonly clock: Clock;
  /** Chance of the arrivals alone, in [0, 1): the same seed offers the same calls to every arm. */
  readonly random: () => number;
  readonly perSecond: number;
  readonly ms: number;
  /** A call that is still open so long after the last arrival counts as failed. */
  readonly drainMs: number;
}

export interface Sample {
  /** Arrival, milliseconds from the start of the load. */
  readonly at: number;
  /** From the arrival to the answer, failed calls included. */
  readonly ms: number;
  readonly answered: boolean;
}

const ADDRESS = "0x00000000000000000000000000000000000000";

/** Offers calls at random (Poisson) instants, never waiting for answers, and measures each. */
export async function offerLoad(arm: Arm, load: Load): Promise<readonly Sample[]> {
  const { clock, random, perSecond, ms, drainMs } = load;
  const start = clock.now();
  const samples: Sample[] = [];
  const open = new Map<number, number>();
  let calls = 0;
  await new Promise<void>((resolve) => {
    let isOver = false;
    let cancelDrain = (): void => undefined;
    const finish = (): void => {
      if (!isOver || open.size > 0) return;
      cancelDrain();
      resolve();
    };
    const end = (id: number, answered: boolean): void => {
      const arrivedAt = open.get(id);
      if (arrivedAt === undefined) return;
      open.delete(id);
      samples.push({ at: arrivedAt - start, ms: clock.now() - arrivedAt, answered });
      finish();
    };
    const next = (): void => {
      if (clock.now() - start >= ms) {
        isOver = true;
        cancelDrain = clock.after(drainMs, () => [...open.keys()].forEach((id) => end(id, false)));
        finish();
        return;
      }
      const id = calls++;
      open.set(id, clock.now());
      arm(ADDRESS + (16 + (id % 200)).toString(16)).then(
        (answered) => end(id, answered),
        () => end(id, false),
      );
      clock.after((-Math.log(1 - random()) * 1_000) / perSecond, next);
    };
    next();
  });
  return samples;
}
