import type { Job, Slot } from "./queue.ts";

/** Calls of one signature that need a slot. */
export interface Group {
  readonly first: Job;
  readonly jobs: Job[];
  /** The latest of their deadlines. */
  latest: number;
}

export interface Shortage {
  /** By signature. */
  readonly groups: ReadonlyMap<string, Group>;
  /** Slots that no job can use. */
  readonly spare: readonly Slot[];
}

/** Gives each job, in order, the first slot in hand that it can use, and tells what is short and what is left over. */
export function matchSlots(
  jobs: Iterable<Job>,
  slots: readonly Slot[],
  accepts: (job: Job, slot: Slot) => boolean,
): Shortage {
  const spare = slots.slice();
  const groups = new Map<string, Group>();
  for (const job of jobs) {
    const has = spare.findIndex((slot) => slot.at <= job.deadline && accepts(job, slot));
    if (has >= 0) {
      spare.splice(has, 1);
      continue;
    }
    const group = groups.get(job.signature);
    if (group === undefined) groups.set(job.signature, { first: job, jobs: [job], latest: job.deadline });
    else {
      group.jobs.push(job);
      group.latest = Math.max(group.latest, job.deadline);
    }
  }
  return { groups, spare };
}
