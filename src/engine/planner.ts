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
/** An isolate where so many calls a second arrive (as measured: 25 that come at random may look like 20) … */
const PREFETCH_FROM = 20;
/** … asks for the slots of so much time to come, while there are calls that must wait anyhow. */
const PREFETCH_MS = 300;
/**
 * An exchange costs more than a call, even one with a ledger that answers at once (a transaction): where calls come this
 * fast, one serves those of the next moments too, for no longer than a slot may be late.
 */
const BURST_FROM = 150;
const BURST_MS = 10;
const BURST_MAX = 24;
/**
 * Who was refused a slot because all are taken asks again after a pause, since the timeline is full and others wait
 * too. It doubles with every refusal, shrinks with every slot, and is never longer than two turns of the whole fleet.
 */
const PAUSE_MIN_MS = 1_000;
const PAUSE_GROWTH = 2;
const PAUSE_SHRINK = 0.8;
const PAUSE_TURNS = 2;
/** Who got a slot in spite of contention lets so much of the pause go by before it asks for its next call. */
const REST_FROM = 0.5;
const REST_SPREAD = 0.2;

/** What the pool knows of its ledger and its load. */
export interface Situation {
  /** Whether an exchange costs a round trip: then it is worth saving. */
  readonly isRemote: boolean;
  /** Calls per second that arrive at this isolate. */
  readonly rate: number;
  /** How far ahead of the ledger's now a slot must lie to be usable here. */
  readonly leadMs: number;
  /** Clients of the ledger. */
  readonly clients: number;
  random(): number;
}

export interface Wanted {
  readonly want: Want;
  /** The calls that it is for; null for those that have not come yet. */
  readonly group: Group | null;
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

  /** Slots on taken places that it is worth holding for calls that have not come yet. */
  get ahead(): number {
    const { isRemote, rate } = this.#situation;
    return isRemote && rate >= PREFETCH_FROM ? Math.ceil((rate * PREFETCH_MS) / 1_000) : 0;
  }

  /** Slots of this very moment that the calls of the next milliseconds will use. */
  get burst(): number {
    const { rate } = this.#situation;
    return rate >= BURST_FROM ? Math.min(BURST_MAX, Math.ceil((rate * BURST_MS) / 1_000)) : 0;
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
      const asked = this.#wants(group, now);
      if (asked.length > 0) wants.push(...asked);
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
    if (isContended && leases.length > 0) {
      this.#restUntil = now + this.#pauseMs * (REST_FROM + REST_SPREAD * this.#situation.random());
    }
    for (const [index, { group }] of wants.entries()) {
      const at = retryAt[index] ?? 0;
      if (at === 0 || group === null || this.#isHopeless(group, now)) continue;
      this.#notBefore.set(group.first.signature, isRemote ? at + this.#pause() : at);
    }
  }

  #adapt(isServed: boolean): void {
    const { clients } = this.#situation;
    const turnMs = (clients * 1_000) / Math.max(1, this.#board.capacity(this.#heardAt));
    const most = PAUSE_TURNS * turnMs;
    const next = this.#pauseMs * (isServed ? PAUSE_SHRINK : PAUSE_GROWTH);
    this.#pauseMs = Math.min(most, Math.max(PAUSE_MIN_MS, next));
  }

  /** Short pauses are random from zero on; of long ones a part is certain, so that the fleet's requests come evenly. */
  #pause(): number {
    const certain = Math.max(0, this.#pauseMs - PAUSE_MIN_MS) / 3;
    return certain + this.#situation.random() * (Math.min(this.#pauseMs, PAUSE_MIN_MS) + certain);
  }

  #wants(group: Group, now: number): Wanted[] {
    const { first, jobs, latest } = group;
    const { ahead, burst } = this;
    const count = Math.min(PICKS_MAX, jobs.length + Math.max(ahead, burst) + PICKS_SPARE);
    let picks = this.#board.picks(first, count, now, latest);
    if (picks.length === 0 && first.tried.size > 0) {
      for (const job of jobs) job.relaxed = true;
      picks = this.#board.picks(first, count, now, latest);
    }
    if (picks.length === 0) return [];
    const ask = { withinMs: latest - now, cost: first.cost };
    const wants: Wanted[] = [{ want: { ...ask, n: Math.min(jobs.length, WANT_MAX), picks }, group }];
    if (burst > 0) {
      const withinMs = this.#situation.leadMs + BURST_MS;
      wants.push({ want: { ...ask, withinMs, n: burst, picks }, group: null });
    }
    // A free place needs no slot in advance; one that is taken now will be free at an instant of its own.
    const taken = ahead > 0 ? picks.filter((pick) => this.#isTaken(pick, now)) : [];
    if (taken.length > 0) wants.push({ want: { ...ask, n: ahead, picks: taken }, group: null });
    return wants;
  }

  #isTaken({ target: id }: Place, now: number): boolean {
    const target = this.#board.get(id);
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
