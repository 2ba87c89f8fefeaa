import type { Lease } from "../ports/ledger.ts";
import type { Slot } from "./queue.ts";
import type { Target } from "./target.ts";

/** The leased slots that lie ahead of this isolate, by instant. */
export class Hand {
  #slots: Slot[] = [];

  get size(): number {
    return this.#slots.length;
  }

  /** Epoch ms, ledger time; Infinity when the hand is empty. */
  get nextAt(): number {
    return this.#slots[0]?.at ?? Infinity;
  }

  all(): readonly Slot[] {
    return this.#slots;
  }

  /** Takes what was leased, as slots on the targets that `targetOf` knows. */
  add(leases: readonly Lease[], standIn: boolean, targetOf: (id: string) => Target | undefined): void {
    for (const lease of leases) {
      const to = targetOf(lease.target);
      if (to !== undefined) this.#slots.push({ ...lease, to, ...(standIn ? { standIn } : {}) });
    }
    this.#slots.sort((a, b) => a.at - b.at);
  }

  /** Puts slots back that were taken as due, in their order. */
  keep(slots: readonly Slot[]): void {
    if (slots.length > 0) this.#slots.unshift(...slots);
  }

  /** Takes the first slot whose instant has come. */
  due(now: number): Slot | undefined {
    return this.nextAt <= now ? this.#slots.shift() : undefined;
  }

  remove(slots: readonly Slot[]): void {
    if (slots.length > 0) this.#slots = this.#slots.filter((slot) => !slots.includes(slot));
  }
}
