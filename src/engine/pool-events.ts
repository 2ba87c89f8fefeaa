import type { SluiceEvent } from "../ports/events.ts";
import type { BucketState, Suspicion, TargetState } from "../ports/state.ts";
import { bucketEvent, type EventBody, targetEvent } from "./changes.ts";
import type { SuspectedGroup } from "./suspected-group.ts";

/** Tells the operator what a pool lives through. */
export class PoolEvents {
  readonly #tell: (event: EventBody) => void;
  readonly #suspected = new Set<string>();
  #isDown = false;

  /** `emit` gets every event, stamped with the pool's name and the time by `now`, epoch ms. */
  constructor(upstream: string, now: () => number, emit: (event: SluiceEvent) => void) {
    this.#tell = (event) => emit({ ...event, at: now(), upstream });
  }

  bucket(id: string, after: BucketState, before: BucketState | undefined, now: number): void {
    const event = bucketEvent(id, after, before, now);
    // While isolates know nothing of each other, each is somebody else to the others.
    if (event !== null && !(this.#isDown && event.type === "foreign_use")) this.#tell(event);
  }

  target(id: string, after: TargetState, before: TargetState | undefined, now: number): void {
    const event = targetEvent(id, after, before, now);
    if (event !== null) this.#tell(event);
  }

  ledgerDown(cause: unknown): void {
    this.#isDown = true;
    this.#tell({ type: "ledger_down", detail: cause instanceof Error ? cause.message : "unknown" });
  }

  ledgerUp(downMs: number): void {
    this.#isDown = false;
    this.#tell({ type: "ledger_up", downMs });
  }

  /** Tells of each group once. */
  suspicions(suspicions: readonly Suspicion[], describe: (suspicion: Suspicion) => SuspectedGroup): void {
    for (const suspicion of suspicions) {
      const key = suspicion.buckets.join(" ");
      if (this.#suspected.has(key)) continue;
      this.#suspected.add(key);
      this.#tell({ type: "group_suspected", ...describe(suspicion) });
    }
  }
}
