import type { SluiceError } from "../errors.ts";
import type { ExchangeReply, Pick as Place, Want } from "../ports/ledger.ts";
import type { Board } from "./board.ts";
import type { Group } from "./match-slots.ts";
import type { Job } from "./queue.ts";
import { outOfService, refusedToEach } from "./refusals.ts";

/** Before a call is refused for want of targets, the ledger is asked whether they are back, at most this often. */
const LOOK_AGAIN_MS = 1_000;
/** Most slots asked for at once, and most places offered for them. */
const WANT_MAX = 32;
const PICKS_MAX = 16;
/** Places offered beyond the number of slots, for the case that others were quicker. */
const PICKS_SPARE = 2;
/** An isolate that sends at least so many calls a second by itself … */
const PREFETCH_FROM = 25;
/** … asks for the slots of so much time to come, while there are calls that must wait anyhow. */
const PREFETCH_MS = 300;
/**
 * Who was refused a slot because all are taken asks again after a pause, since the timeline is full and others wait
 * too. It doubles with every refusal, shrinks with every slot, and is never longer than two turns of the whole fleet.
 */
const PAUSE_MIN_MS = 1_000;
const PAUSE_GROWTH = 2;
const PAUSE_SHRINK = 0.8;
const PAUSE_TURNS = 2;

/** What the pool knows of its ledger and its load. */
export interface Situation {
  /** Whether an exchange costs a round trip: then it is worth saving. */
  readonly isRemote: boolean;
  /** Calls per second that arrive at this isolate. */
  readonly rate: number;
  /** Clients of the ledger. */
  readonly clients: number;
  random(): number;
}

export interface Wanted {
  readonly want: Want;
  readonly group: Group;
}

/** What to do for the groups of calls that have no slot in hand. */
export interface Plan {
  readonly wants: readonly Wanted[];
  readonly refused: readonly { readonly jobs: readonly Job[]; readonly error: SluiceError }[];
  /** A call hangs on hearing the ledger anew, even if nothing can be asked of it. */
  readonly look: boolean;
}

/** Decides what to ask the ledger for, when asking is in vain, and which calls no target will ever serve in time. */
export class Planner {
  readonly #board: Board;
  readonly #situation: Situation;
  /** Per signature: asking for a slot before this is in vain. */
  #notBefore = new Map<string, number>();
  /** No group asks before this, epoch ms: one that got a slot under contention lets the others go first. */
  #restUntil = 0;
  #pauseMs = PAUSE_MIN_MS;
  /** When the ledger was heard last, ledger time. */
  #heardAt = -Infinity;

  constructor(board: Board, situation: Situation) {
    this.#board = board;
    this.#situation = situation;
  }

  /** Slots that it is worth holding for calls that have not come yet. */
  get ahead(): number {
    const { isRemote, rate } = this.#situation;
    return isRemote && rate >= PREFETCH_FROM ? Math.ceil((rate * PREFETCH_MS) / 1_000) : 0;
  }

  /** Whether the ledger was ever heard: before that nobody knows how far away it is, and which slots can be used at all. */
  get isInformed(): boolean {
    return this.#heardAt > -Infinity;
  }

  /** The first instant at which a group may ask again, epoch ms; Infinity when none waits for one. */
  get nextAt(): number {
    return Math.min(Infinity, ...this.#notBefore.values());
  }

  /** Something has got better than it was when the ledger named its times. */
  forget(): void {
    this.#notBefore.clear();
    this.#restUntil = 0;
  }

  plan(groups: ReadonlyMap<string, Group>, now: number): Plan {
    const notBefore = this.#notBefore;
    this.#notBefore = new Map();
    const wants: Wanted[] = [];
    const refused: { jobs: readonly Job[]; error: SluiceError }[] = [];
    let look = false;
    for (const [signature, group] of groups) {
      const wait = Math.max(this.#restUntil, notBefore.get(signature) ?? 0);
      if (wait > now) {
        this.#notBefore.set(signature, wait);
        continue;
      }
      const want = this.#want(group, now);
      if (want !== null) wants.push({ want, group });
      // All may be busy until then, but a slot may come back: such jobs stay until their time is up.
      else if (!this.#isHopeless(group, now)) continue;
      else if (now - this.#heardAt > LOOK_AGAIN_MS) look = true;
      else refused.push({ jobs: group.jobs, error: this.#exhausted(group.first, now) });
    }
    return { wants, refused, look };
  }

  /** The ledger has answered: `retryAt` per want, 0 where it was filled. */
  heard(wants: readonly Wanted[], { retryAt, leases }: Pick<ExchangeReply, "retryAt" | "leases">, now: number): void {
    this.#heardAt = now;
    if (wants.length === 0) return;
    const { isRemote } = this.#situation;
    if (isRemote) this.#adapt(leases.length > 0);
    const isContended = isRemote && this.#pauseMs > 2 * PAUSE_MIN_MS;
    if (isContended && leases.length > 0) this.#restUntil = now + this.#situation.random() * this.#pauseMs;
    for (const [index, { group }] of wants.entries()) {
      const at = retryAt[index] ?? 0;
      if (at === 0 || this.#isHopeless(group, now)) continue;
      this.#notBefore.set(group.first.signature, isRemote ? at + this.#pause() : at);
    }
  }

  #adapt(isServed: boolean): void {
    const { clients } = this.#situation;
    const turnMs = (clients * 1_000) / Math.max(1, this.#board.capacity(this.#heardAt));
    const most = Math.max(PAUSE_MIN_MS, PAUSE_TURNS * turnMs);
    const next = this.#pauseMs * (isServed ? PAUSE_SHRINK : PAUSE_GROWTH);
    this.#pauseMs = Math.min(most, Math.max(PAUSE_MIN_MS, next));
  }

  /** Short pauses are random from zero on; of long ones a part is certain, so that the fleet's requests come evenly. */
  #pause(): number {
    const certain = (this.#pauseMs - PAUSE_MIN_MS) / 3;
    return certain + this.#situation.random() * (PAUSE_MIN_MS + certain);
  }

  #want({ first, jobs, latest }: Group, now: number): Want | null {
    const count = Math.min(PICKS_MAX, jobs.length + this.ahead + PICKS_SPARE);
    let picks = this.#board.picks(first, count, now, latest);
    if (picks.length === 0 && first.tried.size > 0) {
      for (const job of jobs) job.relaxed = true;
      picks = this.#board.picks(first, count, now, latest);
    }
    if (picks.length === 0) return null;
    const n = Math.min(WANT_MAX, jobs.length + (this.#isBusy(picks, now) ? this.ahead : 0));
    return { n, withinMs: latest - now, cost: first.cost, picks };
  }

  /** Whether even the best of the places is taken now: a free one needs no slot in advance. */
  #isBusy([best]: readonly Place[], now: number): boolean {
    const target = best === undefined ? undefined : this.#board.get(best.target);
    return target !== undefined && this.#board.readyAtOf(target, now) > now;
  }

  /** No target that could serve the calls is back in service by then, however free it may be. */
  #isHopeless({ first, latest }: Group, now: number): boolean {
    return this.#board.backAt({ ...first, relaxed: true }, now) > latest;
  }

  #exhausted(job: Job, now: number): SluiceError {
    const backMs = this.#board.backAt({ ...job, relaxed: true }, now) - now;
    const isAble = this.#board.backAt({ ...job, needs: [], relaxed: true }, now) <= job.deadline;
    return isAble ? refusedToEach(job.needs, backMs) : outOfService(backMs);
  }
}
