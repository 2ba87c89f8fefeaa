import type { SluiceError } from "../errors.ts";
import type { ExchangeReply, Want } from "../ports/ledger.ts";
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

const SPREAD_MS = Number(process.env.SPREAD ?? 600);
const VMAX = Number(process.env.VMAX ?? 3);
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
  /** Per signature: asking for a slot before this is in vain. */
  #notBefore = new Map<string, number>();
  #vain = 0;
  /** When the ledger was heard last, ledger time. */
  #heardAt = -Infinity;

  constructor(board: Board) {
    this.#board = board;
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
  }

  plan(groups: ReadonlyMap<string, Group>, now: number): Plan {
    const notBefore = this.#notBefore;
    this.#notBefore = new Map();
    const wants: Wanted[] = [];
    const refused: { jobs: readonly Job[]; error: SluiceError }[] = [];
    let look = false;
    for (const [signature, group] of groups) {
      const wait = notBefore.get(signature) ?? 0;
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
  heard(
    wants: readonly Wanted[],
    { retryAt, leases }: Pick<ExchangeReply, "retryAt" | "leases">,
    now: number,
    dice: number,
  ): void {
    this.#heardAt = now;
    if (leases.length > 0) this.#vain = 0;
    else if (wants.length > 0) this.#vain++;
    for (const [index, { group }] of wants.entries()) {
      const at = retryAt[index] ?? 0;
      const spread = dice * SPREAD_MS * 2 ** Math.max(0, Math.min(VMAX, this.#vain - 1));
      if (at > 0 && !this.#isHopeless(group, now)) this.#notBefore.set(group.first.signature, at + spread);
    }
  }

  #want({ first, jobs, latest }: Group, now: number): Want | null {
    const n = Math.min(jobs.length, WANT_MAX);
    const count = Math.min(PICKS_MAX, n + PICKS_SPARE);
    let picks = this.#board.picks(first, count, now, latest);
    if (picks.length === 0 && first.tried.size > 0) {
      for (const job of jobs) job.relaxed = true;
      picks = this.#board.picks(first, count, now, latest);
    }
    return picks.length === 0 ? null : { n, withinMs: latest - now, cost: first.cost, picks };
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
