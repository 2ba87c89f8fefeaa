import { SluiceError } from "../errors.ts";
import { opensAt } from "../ledger/gate.ts";
import { isSick } from "../ledger/health.ts";
import type { Clock } from "../ports/clock.ts";
import type { SluiceEvent } from "../ports/events.ts";
import type { Ledger, Settlement } from "../ports/ledger.ts";
import { Board } from "./board.ts";
import type { Priority } from "./call.ts";
import { strategyOf } from "./choose/index.ts";
import type { UpstreamDefinition } from "./definition.ts";
import { Exchanger } from "./exchanger.ts";
import { Hand } from "./hand.ts";
import { matchSlots } from "./match-slots.ts";
import { type Plan, Planner, type Wanted } from "./planner.ts";
import { PoolEvents } from "./pool-events.ts";
import { identityOf, type Job, Queue, type Slot } from "./queue.ts";
import { clientGone, closing, queueFull, waitTooLong } from "./refusals.ts";
import { toSuspectedGroup } from "./suspected-group.ts";
import type { Target } from "./target.ts";

/** A slot this late is forfeited: its neighbour on the timeline is too near. */
const LATE_MS = 15;
/** Good news, or a slot given back, waits this long for company before it goes to the ledger; bad news goes at once. */
const SETTLE_AFTER_MS = 50;
/** Good news for a ledger that costs a round trip rides on the next request for a slot; so long at most, so much at most. */
const SETTLE_REMOTE_MS = 15_000;
const SETTLE_REMOTE_MAX = 100;

export interface PoolOptions {
  readonly name: string;
  readonly definition: UpstreamDefinition;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** How many isolates there may be, until the ledger tells. */
  readonly isolates: number;
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

/**
 * The targets of one upstream and the calls that wait for them: chooses, leases slots from the ledger, and hands each
 * slot, at its instant, to the first waiting call that can use it. One call that cannot be placed never holds up another.
 */
export class Pool {
  readonly board: Board;
  readonly exchanger: Exchanger;
  readonly #options: PoolOptions;
  readonly #events: PoolEvents;
  readonly #queue = new Queue();
  readonly #hand = new Hand();
  readonly #planner: Planner;
  #settleAt = Infinity;
  /** No waiting call's time is up before this. */
  #expireAt = Infinity;
  #cancelTimer: (() => void) | null = null;
  /** When the timer fires, by the isolate's own clock. */
  #timerAt = Infinity;
  #pumping = false;
  #again = false;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { definition, ledger, clock, name } = options;
    this.#events = new PoolEvents(name, () => clock.now(), options.emit);
    this.exchanger = new Exchanger({
      pool: name,
      ledger,
      clock,
      terms: definition.terms,
      isolates: options.isolates,
      onBucket: (id, after, before) => {
        const now = this.exchanger.now();
        this.board.bucketChanged(id, now);
        if (before !== undefined && opensAt(after.gate) < opensAt(before.gate)) this.#planner.forget();
        this.#events.bucket(id, after, before, now);
      },
      onTarget: (id, after, before) => {
        const now = this.exchanger.now();
        this.board.targetChanged(id, now);
        if (before !== undefined && opensAt(after.gate) < opensAt(before.gate)) this.#planner.forget();
        this.#events.target(id, after, before, now);
      },
      onDown: (cause) => this.#events.ledgerDown(cause),
      onUp: (downMs) => this.#events.ledgerUp(downMs),
      onSpare: (leases) => {
        for (const lease of leases) {
          const to = this.board.get(lease.target);
          if (to !== undefined) this.#giveBack({ ...lease, to });
        }
        this.#pump();
      },
    });
    this.board = new Board(definition.targets, this.exchanger, definition.terms, strategyOf(definition.strategy));
    const { exchanger } = this;
    this.#planner = new Planner(this.board, {
      get isRemote() {
        return exchanger.isRemote;
      },
      get rate() {
        return exchanger.rate;
      },
      get leadMs() {
        return exchanger.wayMs;
      },
      get clients() {
        return exchanger.clients;
      },
      random: () => clock.random(),
    });
  }

  get queued(): number {
    return this.#queue.size;
  }

  get slots(): number {
    return this.#hand.size;
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

  /** Enters what became of a slot. Bad news reaches the ledger at once, good news when there is company for it. */
  settle(slot: Slot, outcome: Settlement["outcome"], effects: Omit<Settlement, keyof Slot | "outcome">): void {
    this.exchanger.settle({ ...identityOf(slot), outcome, ...effects });
    const urgent = this.#closed || outcome === "refused" || outcome === "failed" || Object.keys(effects).length > 0;
    this.#settleBy(urgent ? 0 : this.#patienceFor(slot));
    this.#pump();
  }

  /** News about targets that were not called (the others behind a base URL that is out). */
  tell(targets: readonly Target[], effects: Omit<Settlement, keyof Slot | "outcome">): void {
    for (const { id: target, bucket } of targets) {
      this.exchanger.settle({ bucket, target, at: 0, epoch: -1, outcome: "none", ...effects });
    }
    this.#settleBy(0);
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
    this.#planner.forget();
    await this.#flush();
    this.#pump();
  }

  /** Gives back every slot, refuses every waiting call, and tells the ledger the rest. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#disarm();
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
      const { wants, look } = this.#plan(now);
      const isDue = look || (this.exchanger.unsettled && now >= this.#settleAt);
      if (!this.exchanger.busy && (wants.length > 0 || isDue)) {
        this.#exchange(this.#planner.isInformed ? wants : []);
      }
    } while (this.#again);
    this.#pumping = false;
    this.#schedule();
  }

  /** Gives each slot whose instant has come to the first call that can use it. One leased in advance waits for it a little. */
  #fire(now: number): void {
    const kept: Slot[] = [];
    const keeps = this.#planner.burst;
    for (let slot = this.#hand.due(now); slot !== undefined; slot = this.#hand.due(now)) {
      const { to } = slot;
      const isLate = now - slot.at > LATE_MS;
      const job = isLate
        ? undefined
        : this.#queue.take((waiting) => waiting.deadline >= now && this.board.accepts(waiting, to, now));
      if (job !== undefined) job.resolve(slot);
      else if (isLate || kept.length >= keeps) this.#giveBack(slot);
      else kept.push(slot);
      if (this.#queue.size === 0 && kept.length > 0) break;
    }
    this.#hand.keep(kept);
  }

  /** Sees to the slots in hand and to the calls whose time is up; the rest is the planner's. */
  #plan(now: number): Pick<Plan, "wants" | "look"> {
    if (this.#queue.size === 0 && this.#hand.size === 0) {
      this.#planner.forget();
      return { wants: [], look: false };
    }
    this.#drop(this.#hand.all().filter((slot) => !this.board.honours(slot)));
    if (this.#expireAt < now) {
      const expired = [...this.#queue.all()].filter((job) => job.deadline < now);
      if (expired.length > 0) this.#refuse(expired, waitTooLong(this.#backlogMs()));
    }
    const accepts = (job: Job, slot: Slot) => this.board.accepts(job, slot.to, now);
    const { groups, spare } = matchSlots(this.#queue.all(), this.#hand.all(), accepts);
    // What was leased in advance stays for the calls to come.
    this.#drop(spare.slice(Math.max(this.#planner.ahead, this.#planner.burst)));
    const plan = this.#planner.plan(groups, now);
    for (const { jobs, error } of plan.refused) this.#refuse(jobs, error);
    return plan;
  }

  #exchange(wants: readonly Wanted[]): void {
    this.#settleAt = Infinity;
    this.exchanger.run(
      wants.map(({ want }) => want),
      (reply, standIn) => {
        this.#planner.heard(wants, reply, this.exchanger.now());
        this.#hand.add(reply.leases, standIn, (id) => this.board.get(id));
        // What this exchange could not deliver has no time of its own any more.
        if (this.exchanger.unsettled && this.#settleAt === Infinity) this.#settleAt = this.exchanger.reachableAt;
        this.#events.suspicions(this.exchanger.suspicions, (suspicion) =>
          toSuspectedGroup(suspicion, this.board, this.#options.definition),
        );
        this.#pump();
      },
    );
  }

  /** Slots that no waiting call needs, or that a cooldown has overtaken, go back. */
  #drop(spare: readonly Slot[]): void {
    this.#hand.remove(spare);
    for (const slot of spare) this.#giveBack(slot);
  }

  #giveBack(slot: Slot): void {
    this.exchanger.settle({ ...identityOf(slot), outcome: "unused" });
    const isOfUse = slot.at > this.exchanger.now() + this.exchanger.wayMs;
    this.#settleBy(this.#closed ? 0 : isOfUse ? SETTLE_AFTER_MS : this.#patienceFor(slot));
  }

  /** Tells the ledger within `ms`. */
  #settleBy(ms: number): void {
    this.#settleAt = Math.min(this.#settleAt, this.exchanger.now() + ms);
  }

  /** How long good news about a slot may wait for company. */
  #patienceFor(slot: Slot): number {
    const canWait = this.exchanger.isRemote && this.exchanger.pending < SETTLE_REMOTE_MAX && !this.#isAwaited(slot);
    return canWait ? SETTLE_REMOTE_MS : SETTLE_AFTER_MS;
  }

  /** Whether the fleet waits for what becomes of the slot: it is the probe of a sick target, or of one coming back. */
  #isAwaited({ probe, bucket, target }: Slot): boolean {
    const state = this.exchanger.targets.get(target);
    if (probe || (state !== undefined && isSick(state.health, this.exchanger.now()))) return true;
    const gates = [this.exchanger.buckets.get(bucket)?.gate, state?.gate];
    return gates.some((gate) => gate?.kind === "probing" || gate?.kind === "ramping");
  }

  #refuse(jobs: Iterable<Job>, error: SluiceError): void {
    for (const job of jobs) if (this.#queue.remove(job)) job.reject(error);
  }

  #schedule(): void {
    if (this.#closed) return this.#disarm();
    const now = this.exchanger.now();
    let next = this.exchanger.unsettled && !this.exchanger.busy ? this.#settleAt : Infinity;
    // A slot that is due already waits for a call until it is too late for it.
    const handAt = this.#hand.nextAt > now ? this.#hand.nextAt : this.#hand.nextAt + LATE_MS + 1;
    next = Math.min(next, handAt, this.#planner.nextAt);
    this.#expireAt = Infinity;
    if (this.#queue.size > 0) {
      for (const job of this.#queue.all()) this.#expireAt = Math.min(this.#expireAt, job.deadline);
    }
    next = Math.min(next, this.#expireAt + 1);
    if (next === Infinity) return this.#disarm();
    const { clock } = this.#options;
    const ms = Math.max(0, next - now);
    const at = clock.now() + ms;
    // One that fires too soon does no harm, and a timer costs as much as a call.
    if (this.#timerAt <= at) return;
    this.#disarm();
    this.#timerAt = at;
    this.#cancelTimer = clock.after(ms, () => {
      this.#cancelTimer = null;
      this.#timerAt = Infinity;
      this.#pump();
    });
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#timerAt = Infinity;
  }
}
