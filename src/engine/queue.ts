import type { SluiceError } from "../errors.ts";
import type { Lease } from "../ports/ledger.ts";
import type { Priority } from "./call.ts";
import type { Target } from "./target.ts";

/** A slot in a call's hand. */
export interface Slot extends Lease {
  readonly to: Target;
  /** Granted by this isolate itself while the ledger was out of reach. */
  readonly standIn?: true;
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
  resolve(slot: Slot): void;
  reject(error: SluiceError): void;
}

const ORDER: readonly Priority[] = ["critical", "interactive", "batch"];
/** Every so many slots the order turns round, so that batch is slow but never starved. */
const BATCH_EVERY = 5;

/** Bounded, in order of arrival within a priority; a job leaves in O(1) when its client does. */
export class Queue<J extends Job = Job> {
  readonly #lines: Record<Priority, Set<J>> = { critical: new Set(), interactive: new Set(), batch: new Set() };
  #turn = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(job: J): void {
    this.#lines[job.priority].add(job);
    this.#size++;
  }

  /** False when the job was gone already. */
  remove(job: J): boolean {
    const removed = this.#lines[job.priority].delete(job);
    if (removed) this.#size--;
    return removed;
  }

  *all(): Generator<J> {
    for (const priority of ORDER) yield* this.#lines[priority];
  }

  /** Takes the first job that can use the slot, whatever stands before it. */
  take(accepts: (job: J) => boolean): J | undefined {
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
