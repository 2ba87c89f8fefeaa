import { Heap, type HeapItem } from "../lib/heap.ts";
import type { Target } from "./target.ts";

/** One target's place among the others. */
export interface Ranked extends HeapItem {
  readonly target: Target;
  /** When it can take a call as far as this isolate knows, epoch ms (ledger time); Infinity when it is out. */
  readyAt: number;
  penaltyMs: number;
  rank: number;
}

/**
 * Keeps the targets of a pool in the order in which they would serve a call best: lowest start + penalty, then lowest
 * rank. Two heaps, because the start of a target that is ready is always "now": those that are ready are ordered by
 * penalty, those that are not by start + penalty. A choice costs O(log n).
 */
export class Ranking {
  readonly #ranked = new Map<string, Ranked>();
  readonly #ready = new Heap<Ranked>((a, b) => isBefore(a.penaltyMs - b.penaltyMs, a, b));
  readonly #waiting = new Heap<Ranked>((a, b) => isBefore(a.readyAt + a.penaltyMs - (b.readyAt + b.penaltyMs), a, b));
  readonly #heapOf = new Map<Ranked, Heap<Ranked>>();

  /** Places (or moves) a target. */
  set(target: Target, place: { readyAt: number; penaltyMs: number; rank: number }, now: number): void {
    let ranked = this.#ranked.get(target.id);
    if (ranked === undefined) {
      ranked = { target, heapIndex: -1, ...place };
      this.#ranked.set(target.id, ranked);
    } else {
      ranked.readyAt = place.readyAt;
      ranked.penaltyMs = place.penaltyMs;
      ranked.rank = place.rank;
    }
    this.#move(ranked, place.readyAt === Infinity ? undefined : place.readyAt <= now ? this.#ready : this.#waiting);
  }

  get(id: string): Ranked | undefined {
    return this.#ranked.get(id);
  }

  all(): IterableIterator<Ranked> {
    return this.#ranked.values();
  }

  /** Up to `count` targets that `accept` takes, best first. */
  best(now: number, count: number, accept: (target: Target) => boolean): Ranked[] {
    const chosen: Ranked[] = [];
    const aside: Ranked[] = [];
    while (chosen.length < count) {
      const next = this.#top(now);
      if (next === undefined) break;
      if (accept(next.target)) chosen.push(next);
      aside.push(next);
      this.#move(next, undefined);
    }
    for (const ranked of aside) this.#move(ranked, ranked.readyAt <= now ? this.#ready : this.#waiting);
    return chosen;
  }

  #top(now: number): Ranked | undefined {
    for (;;) {
      const ready = this.#ready.top();
      const waiting = this.#waiting.top();
      if (waiting === undefined) return ready;
      if (ready !== undefined && now + ready.penaltyMs <= waiting.readyAt + waiting.penaltyMs) return ready;
      if (waiting.readyAt > now) return waiting;
      this.#move(waiting, this.#ready);
    }
  }

  #move(ranked: Ranked, to: Heap<Ranked> | undefined): void {
    const from = this.#heapOf.get(ranked);
    if (from !== undefined && from === to) return from.update(ranked);
    from?.remove(ranked);
    to?.push(ranked);
    if (to === undefined) this.#heapOf.delete(ranked);
    else this.#heapOf.set(ranked, to);
  }
}

/** By the difference in cost, then by rank: the targets of one bucket always cost the same. */
function isBefore(costlier: number, a: Ranked, b: Ranked): boolean {
  return costlier !== 0 ? costlier < 0 : a.rank < b.rank;
}
