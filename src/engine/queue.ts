import type { SluiceError } from "../errors.ts";
import type { Lease, Settlement } from "../ports/ledger.ts";
import type { Priority } from "./call.ts";
import type { Target } from "./target.ts";

/** A slot in a call's hand. */
export interface Slot extends Lease {
  readonly to: Target;
  /** Granted by this isolate itself while the ledger was out of reach. */
  readonly standIn?: true;
}

/** What a settlement says of the slot it is about. */
export function identityOf({ bucket, target, at, epoch, standIn }: Slot): Omit<Settlement, "outcome"> {
  return { bucket, target, at, epoch, ...(standIn === true ? { standIn } : {}) };
}

/** A call that waits for a slot. */
export interface Job {
  readonly priority: Priority;
  readonly needs: readonly string[];
  readonly cost: number;
  /** Targets that this call is not sent to again while another is left. */
  readonly tried: ReadonlySet<string>;
  /** Ledger time, epoch ms: not sent after this. */
  readonly deadline: number;
  /** Calls of one signature can use the same slots: needs and tried targets. */
  readonly signature: string;
  /** No untried target is left for it: a tried one is better than none. */
  relaxed: boolean;
  resolve(slot: Slot): void;
  reject(error: SluiceError): void;
}

const ORDER: readonly Priority[] = ["critical", "interactive", "batch"];
/** Every so many slots the order turns round, so that batch is slow but never starved. */
const BATCH_EVERY = 5;

/** Bounded, in order of arrival within a priority; a job leaves in O(1) when its client does. */
export class Queue {
  readonly #lines: Record<Priority, Set<Job>> = { critical: new Set(), interactive: new Set(), batch: new Set() };
  #turn = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(job: Job): void {
    this.#lines[job.priority].add(job);
    this.#size++;
  }

  /** False when the job was gone already. */
  remove(job: Job): boolean {
    const removed = this.#lines[job.priority].delete(job);
    if (removed) this.#size--;
    return removed;
  }

  *all(): Generator<Job> {
    for (const priority of ORDER) yield* this.#lines[priority];
  }

  /** Takes the first job that can use the slot, whatever stands before it. */
  take(accepts: (job: Job) => boolean): Job | undefined {
    const batchFirst = ++this.#turn % BATCH_EVERY === 0;
    for (const priority of batchFirst ? (["critical", "batch", "interactive"] as const) : ORDER) {
      for (const job of this.#lines[priority]) {
        if (!accepts(job)) continue;
        this.remove(job);
        return job;
      }
    }
    return undefined;
  }
}
