import { SluiceError } from "../errors.ts";
import { opensAt } from "../ledger/gate.ts";
import type { Clock } from "../ports/clock.ts";
import type { SluiceEvent } from "../ports/events.ts";
import type { Ledger, Settlement, Want } from "../ports/ledger.ts";
import { Board } from "./board.ts";
import type { Priority } from "./call.ts";
import { strategyOf } from "./choose/index.ts";
import type { UpstreamDefinition } from "./definition.ts";
import { Exchanger } from "./exchanger.ts";
import { bucketEvent, type EventBody, targetEvent } from "./changes.ts";
import { type Group, matchSlots } from "./match-slots.ts";
import { type Job, Queue, type Slot } from "./queue.ts";
import { clientGone, closing, outOfService, queueFull, refusedToEach, waitTooLong } from "./refusals.ts";
import { toSuspectedGroup } from "./suspected-group.ts";
import type { Target } from "./target.ts";

/** A slot this late is forfeited: its neighbour on the timeline is too near. */
const LATE_MS = 15;
/** Good news, or a slot given back, waits this long for company before it goes to the ledger; bad news goes at once. */
const SETTLE_AFTER_MS = 50;
/** Good news for a ledger that costs a round trip: at four calls a second one exchange then serves each. */
const SETTLE_REMOTE_MS = 250;
/** Before a call is refused for want of targets, the ledger is asked whether they are back, at most this often. */
const LOOK_AGAIN_MS = 1_000;
/** Most slots asked for at once, and most places offered for them. */
const WANT_MAX = 32;
const PICKS_MAX = 16;
/** Places offered beyond the number of slots, for the case that others were quicker. */
const PICKS_SPARE = 2;

export interface PoolOptions {
  readonly name: string;
  readonly definition: UpstreamDefinition;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly emit: (event: SluiceEvent) => void;
}

export interface Admission {
  readonly priority: Priority;
  readonly needs: readonly string[];
  readonly cost: number;
  readonly tried: ReadonlySet<string>;
  /** Milliseconds that the call may still wait. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

interface Wanted {
  readonly want: Want;
  readonly group: Group;
}

/**
 * The targets of one upstream and the calls that wait for them: chooses, leases slots from the ledger, and hands each
 * slot, at its instant, to the first waiting call that can use it. One call that cannot be placed never holds up another.
 */
export class Pool {
  readonly board: Board;
  readonly exchanger: Exchanger;
  readonly #options: PoolOptions;
  readonly #queue = new Queue();
  /** Leased slots that lie ahead, by instant. */
  #hand: Slot[] = [];
  /** Per signature: asking for a slot before this is in vain. */
  #notBefore = new Map<string, number>();
  #settleAt = Infinity;
  /** No waiting call's time is up before this. */
  #expireAt = Infinity;
  /** When the ledger was heard last, and whether a call hangs on hearing it anew. */
  #heardAt = -Infinity;
  #look = false;
  #cancelTimer: (() => void) | null = null;
  #pumping = false;
  #again = false;
  #closed = false;
  #suspected = new Set<string>();

  constructor(options: PoolOptions) {
    this.#options = options;
    const { definition, ledger, clock, name } = options;
    this.exchanger = new Exchanger({
      pool: name,
      ledger,
      clock,
      terms: definition.terms,
      onBucket: (id, after, before) => {
        const now = this.exchanger.now();
        this.board.bucketChanged(id, now);
        if (before !== undefined && opensAt(after.gate) < opensAt(before.gate)) this.#notBefore.clear();
        this.#emit(bucketEvent(id, after, before, now));
      },
      onTarget: (id, after, before) => {
        const now = this.exchanger.now();
        this.board.targetChanged(id, now);
        if (before !== undefined && opensAt(after.gate) < opensAt(before.gate)) this.#notBefore.clear();
        this.#emit(targetEvent(id, after, before, now));
      },
      onDown: (cause) =>
        this.#emit({ type: "ledger_down", detail: cause instanceof Error ? cause.message : "unknown" }),
      onUp: (downMs) => this.#emit({ type: "ledger_up", downMs }),
    });
    this.board = new Board(definition.targets, this.exchanger, definition.terms, strategyOf(definition.strategy));
  }

  get queued(): number {
    return this.#queue.size;
  }

  get slots(): number {
    return this.#hand.length;
  }

  /** Learns the stored state, where the store can tell it at once; called before the first look at the board. */
  wake(): void {
    if (!this.exchanger.awake && !this.#closed) this.#exchange([]);
  }

  /**
   * A slot for one call, at its instant. Returned at once (no promise) when a target is free now and the ledger answers
   * at once. Throws or rejects with `queue_full`, `wait_too_long`, `pool_exhausted`, `client_gone` or `closed`.
   */
  admit(admission: Admission): Slot | Promise<Slot> {
    const { signal, tried, needs } = admission;
    if (this.#closed) throw closing();
    if (signal?.aborted) throw clientGone();
    const { maxQueue } = this.#options.definition;
    if (this.#queue.size >= maxQueue) throw queueFull(maxQueue, this.#backlogMs());
    this.exchanger.arrive();
    let settled: Slot | SluiceError | undefined;
    const job: Job = {
      priority: admission.priority,
      needs,
      cost: admission.cost,
      tried,
      deadline: this.exchanger.now() + admission.waitMs,
      signature: `${admission.cost}|${needs.join("|")}|${[...tried].join("|")}`,
      relaxed: false,
      resolve: (slot) => void (settled = slot),
      reject: (error) => void (settled = error),
    };
    this.#queue.add(job);
    this.#expireAt = Math.min(this.#expireAt, job.deadline);
    this.#pump();
    const atOnce = settled as Slot | SluiceError | undefined;
    if (atOnce instanceof SluiceError) throw atOnce;
    if (atOnce !== undefined) return atOnce;
    return new Promise<Slot>((resolve, reject) => {
      const leave = () => {
        this.#refuse([job], clientGone());
        this.#pump();
      };
      const ended = () => signal?.removeEventListener("abort", leave);
      job.resolve = (slot) => (ended(), resolve(slot));
      job.reject = (error) => (ended(), reject(error));
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** Enters what became of a slot. Bad news reaches the ledger at once, good news within 50 or 250 ms. */
  settle(slot: Slot, outcome: Settlement["outcome"], effects: Omit<Settlement, keyof Slot | "outcome">): void {
    this.exchanger.settle({ ...identityOf(slot), outcome, ...effects });
    const urgent = this.#closed || outcome === "refused" || outcome === "failed" || Object.keys(effects).length > 0;
    const patience = this.exchanger.isRemote ? SETTLE_REMOTE_MS : SETTLE_AFTER_MS;
    this.#settleAt = Math.min(this.#settleAt, this.exchanger.now() + (urgent ? 0 : patience));
    this.#pump();
  }

  /** News about targets that were not called (the others behind a base URL that is out). */
  tell(targets: readonly Target[], effects: Omit<Settlement, keyof Slot | "outcome">): void {
    for (const { id: target, bucket } of targets) {
      this.exchanger.settle({ bucket, target, at: 0, epoch: -1, outcome: "none", ...effects });
    }
    this.#settleAt = this.exchanger.now();
    this.#pump();
  }

  /** A slot whose call did not leave after all. */
  giveBack(slot: Slot): void {
    this.#giveBack(slot);
    this.#pump();
  }

  /** Whether a target that was not tried can take a call with these needs within `waitMs`. */
  offersUntried(needs: readonly string[], tried: ReadonlySet<string>, waitMs: number): boolean {
    const now = this.exchanger.now();
    return this.board.readyAt({ needs, tried, relaxed: false }, now) <= now + waitMs;
  }

  async order(target: Target, action: "enable" | "disable"): Promise<void> {
    this.exchanger.order({ target: target.id, action });
    this.#notBefore.clear();
    await this.#flush();
    this.#pump();
  }

  /** Gives back every slot, refuses every waiting call, and tells the ledger the rest. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelTimer?.();
    this.#refuse(this.#queue.all(), closing());
    // Gives back what is in hand; an exchange under way may bring more, which its end gives back.
    this.#pump();
    do await this.#flush();
    while (this.exchanger.unsettled && this.exchanger.reachableAt <= this.exchanger.now());
  }

  async #flush(): Promise<void> {
    await this.exchanger.idle();
    if (this.exchanger.unsettled) await new Promise<void>((resolve) => this.exchanger.run([], () => resolve()));
  }

  /** How long the calls that wait now will take. */
  #backlogMs(): number {
    const capacity = this.board.capacity(this.exchanger.now());
    return capacity > 0 ? Math.ceil((this.#queue.size * 1_000) / capacity) : 60_000;
  }

  #pump(): void {
    if (this.#pumping) {
      this.#again = true;
      return;
    }
    this.#pumping = true;
    do {
      this.#again = false;
      const now = this.exchanger.now();
      this.board.refresh(now, this.exchanger.demand);
      this.#fire(now);
      const wants = this.#plan(now);
      const isDue = this.#look || (this.exchanger.unsettled && now >= this.#settleAt);
      if (!this.exchanger.busy && (wants.length > 0 || isDue)) {
        // The first exchange only learns: how far away the ledger is decides which slots can be used at all.
        this.#exchange(this.#heardAt === -Infinity ? [] : wants);
      }
    } while (this.#again);
    this.#pumping = false;
    this.#schedule();
  }

  /** Gives each slot whose instant has come to the first call that can use it. */
  #fire(now: number): void {
    for (;;) {
      const slot = this.#hand[0];
      if (slot === undefined || slot.at > now) return;
      this.#hand.shift();
      const job =
        now - slot.at > LATE_MS
          ? undefined
          : this.#queue.take((waiting) => waiting.deadline >= now && this.board.accepts(waiting, slot.to, now));
      if (job === undefined) this.#giveBack(slot);
      else job.resolve(slot);
    }
  }

  /** What to ask the ledger for: per signature, a slot for each call that has none in hand. */
  #plan(now: number): Wanted[] {
    if (this.#queue.size === 0 && this.#hand.length === 0) {
      this.#notBefore.clear();
      return [];
    }
    const overtaken = this.#hand.filter((slot) => !this.board.honours(slot));
    if (overtaken.length > 0) this.#drop(overtaken);
    if (this.#expireAt < now) {
      const expired = [...this.#queue.all()].filter((job) => job.deadline < now);
      if (expired.length > 0) this.#refuse(expired, waitTooLong(this.#backlogMs()));
    }
    const accepts = (job: Job, slot: Slot) => this.board.accepts(job, slot.to, now);
    const { groups, spare } = matchSlots(this.#queue.all(), this.#hand, accepts);
    if (spare.length > 0) this.#drop(spare);
    const notBefore = this.#notBefore;
    this.#notBefore = new Map();
    const wants: Wanted[] = [];
    for (const [signature, group] of groups) {
      const wait = notBefore.get(signature) ?? 0;
      const want = wait > now ? null : this.#want(group, now);
      if (wait > now) this.#notBefore.set(signature, wait);
      else if (want !== null) wants.push({ want, group });
    }
    return wants;
  }

  #want({ first, jobs, latest }: Group, now: number): Want | null {
    const n = Math.min(jobs.length, WANT_MAX);
    const count = Math.min(PICKS_MAX, n + PICKS_SPARE);
    let picks = this.board.picks(first, count, now, latest);
    if (picks.length === 0 && first.tried.size > 0) {
      for (const job of jobs) job.relaxed = true;
      picks = this.board.picks(first, count, now, latest);
    }
    if (picks.length > 0) return { n, withinMs: latest - now, cost: first.cost, picks };
    // All are busy until then, but a slot may come back: the jobs stay until their time is up.
    if (!this.#isHopeless(first, latest, now)) return null;
    if (now - this.#heardAt > LOOK_AGAIN_MS) {
      this.#look = true;
      return null;
    }
    this.#refuse(jobs, this.#exhausted(first, now));
    return null;
  }

  /** No target that could serve the call is back in service by then, however free it may be. */
  #isHopeless(job: Job, latest: number, now: number): boolean {
    return this.board.backAt({ ...job, relaxed: true }, now) > latest;
  }

  #exchange(wants: readonly Wanted[]): void {
    this.#settleAt = Infinity;
    this.#look = false;
    this.exchanger.run(
      wants.map(({ want }) => want),
      (reply, standIn) => {
        const now = this.exchanger.now();
        this.#heardAt = now;
        for (const lease of reply.leases) {
          const to = this.board.get(lease.target);
          if (to !== undefined) this.#hand.push({ ...lease, to, ...(standIn ? { standIn } : {}) });
        }
        this.#hand.sort((a, b) => a.at - b.at);
        for (const [index, { group }] of wants.entries()) {
          const retryAt = reply.retryAt[index];
          if (typeof retryAt !== "number" || this.#isHopeless(group.first, group.latest, now)) continue;
          this.#notBefore.set(group.first.signature, retryAt);
        }
        // What this exchange could not deliver has no time of its own any more.
        if (this.exchanger.unsettled && this.#settleAt === Infinity) this.#settleAt = this.exchanger.reachableAt;
        this.#suspect();
        this.#pump();
      },
    );
  }

  /** Slots that no waiting call needs, or that a cooldown has overtaken, go back. */
  #drop(spare: readonly Slot[]): void {
    this.#hand = this.#hand.filter((slot) => !spare.includes(slot));
    for (const slot of spare) this.#giveBack(slot);
  }

  #giveBack(slot: Slot): void {
    this.exchanger.settle({ ...identityOf(slot), outcome: "unused" });
    this.#settleAt = Math.min(this.#settleAt, this.exchanger.now() + (this.#closed ? 0 : SETTLE_AFTER_MS));
  }

  #refuse(jobs: Iterable<Job>, error: SluiceError): void {
    for (const job of jobs) if (this.#queue.remove(job)) job.reject(error);
  }

  #exhausted(job: Job, now: number): SluiceError {
    const backMs = this.board.backAt({ ...job, relaxed: true }, now) - now;
    const isAble = this.board.backAt({ ...job, needs: [], relaxed: true }, now) <= job.deadline;
    return isAble ? refusedToEach(job.needs, backMs) : outOfService(backMs);
  }

  #schedule(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#closed) return;
    const now = this.exchanger.now();
    let next = this.exchanger.unsettled && !this.exchanger.busy ? this.#settleAt : Infinity;
    next = Math.min(next, this.#hand[0]?.at ?? Infinity);
    for (const at of this.#notBefore.values()) next = Math.min(next, at);
    this.#expireAt = Infinity;
    if (this.#queue.size > 0) {
      for (const job of this.#queue.all()) this.#expireAt = Math.min(this.#expireAt, job.deadline);
    }
    next = Math.min(next, this.#expireAt + 1);
    if (next === Infinity) return;
    this.#cancelTimer = this.#options.clock.after(Math.max(0, next - now), () => this.#pump());
  }

  #suspect(): void {
    for (const suspicion of this.exchanger.suspicions) {
      const key = suspicion.buckets.join(" ");
      if (this.#suspected.has(key)) continue;
      this.#suspected.add(key);
      this.#emit({ type: "group_suspected", ...toSuspectedGroup(suspicion, this.board, this.#options.definition) });
    }
  }

  #emit(event: EventBody | null): void {
    if (event === null) return;
    this.#options.emit({ ...event, at: this.#options.clock.now(), upstream: this.#options.name });
  }
}

function identityOf({ bucket, target, at, epoch, standIn }: Slot): Omit<Settlement, "outcome"> {
  return { bucket, target, at, epoch, ...(standIn === true ? { standIn } : {}) };
}
