import { newBucket } from "../ledger/bucket.ts";
import { newTarget, settle } from "../ledger/settle.ts";
import { fade } from "../lib/fade.ts";
import type { Clock } from "../ports/clock.ts";
import type {
  BucketTerms,
  Changes,
  ExchangeReply,
  ExchangeRequest,
  Lease,
  Ledger,
  Order,
  Settlement,
  Want,
} from "../ports/ledger.ts";
import type { BucketState, Suspicion, TargetState } from "../ports/state.ts";
import { isReply } from "./is-reply.ts";
import { LedgerTime, TIMEOUT_MAX_MS } from "./ledger-time.ts";
import { Outage, withoutMark } from "./outage.ts";

/** The rate of arrivals is an average that loses half in this time. */
const RATE_HALF_LIFE_MS = 2_000;
/** What happened while the store was down, kept for it up to this many. */
const PENDING_MAX = 1_000;

export interface ExchangerOptions {
  readonly pool: string;
  readonly ledger: Ledger;
  readonly terms: BucketTerms;
  readonly clock: Clock;
  /** How many clients the ledger may have, until it tells. */
  readonly isolates: number;
  /** Rows as they change, before → after. */
  onBucket(id: string, after: BucketState, before: BucketState | undefined): void;
  onTarget(id: string, after: TargetState, before: TargetState | undefined): void;
  onDown(cause: unknown): void;
  onUp(downMs: number): void;
  /** Slots that came twice, since their exchange was repeated: nobody waits for them. */
  onSpare(leases: readonly Lease[]): void;
}

/** What a ledger threw instead of answering. */
class Thrown {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

type Answer = ExchangeReply | Promise<ExchangeReply> | Thrown;

/** `standIn`: the leases are the isolate's own, since the ledger is out of reach. */
type Done = (reply: ExchangeReply, standIn: boolean) => void;

/**
 * The one line between an isolate's pool and the ledger: at most one exchange in flight, which settles, leases and
 * learns at once. Keeps the isolate's copy of the state, maps the ledger's time, and bridges an outage of the store
 * with a slice: a ledger in memory at half of our share of each ceiling.
 */
export class Exchanger {
  readonly buckets: Map<string, BucketState> = new Map();
  readonly targets: Map<string, TargetState> = new Map();
  demand: number = 0;
  clients: number;
  suspicions: readonly Suspicion[] = [];
  /** Whether an exchange costs a round trip. */
  isRemote: boolean = false;

  readonly #options: ExchangerOptions;
  readonly #client: string;
  #sequence = 0;
  #since = 0;
  #pending: Settlement[] = [];
  #orders: Order[] = [];
  #arrived = 0;
  /** Arrivals that fade, and when they were last faded. */
  #recent = 0;
  #recentAt = 0;
  #busy = false;
  #idlers: (() => void)[] = [];
  /** Every stored row was seen: one that comes up later is new, not old news. */
  #knowsAll = false;
  readonly #time = new LedgerTime();
  /** The request whose fate is unknown: it is repeated as it was, so that nothing is settled twice or lost. */
  #unsure: ExchangeRequest | null = null;
  #outage: Outage | null = null;
  /** Until then the calls that the stand-in granted count in the upstream's windows, and the ledger knows nothing of them. */
  #clearAt = 0;

  constructor(options: ExchangerOptions) {
    this.#options = options;
    this.clients = options.isolates;
    this.#client = Math.floor(options.clock.random() * 2 ** 48).toString(36);
  }

  /** The ledger's time as far as this isolate knows it, epoch ms. */
  now(): number {
    return this.#time.at(this.#options.clock.now());
  }

  /** How far ahead of now a slot must lie for others to have a use for it when it is given back. */
  get wayMs(): number {
    return this.#time.leadMs;
  }

  get busy(): boolean {
    return this.#busy;
  }

  /** Whether there is something that the ledger should hear. */
  get unsettled(): boolean {
    return this.#pending.length > 0 || this.#orders.length > 0;
  }

  /** How many settlements wait for the next exchange. */
  get pending(): number {
    return this.#pending.length;
  }

  /** When the ledger can be asked next, ledger time, epoch ms; 0 while it answers. */
  get reachableAt(): number {
    return this.#outage === null ? 0 : this.#outage.retryAt + this.#time.offset;
  }

  /** Whether the ledger has ever answered: before that this isolate knows nothing of the stored state. */
  get awake(): boolean {
    return this.#since > 0;
  }

  /** Resolves when no exchange is in flight. */
  async idle(): Promise<void> {
    while (this.#busy) await new Promise<void>((resolve) => this.#idlers.push(resolve));
  }

  arrive(): void {
    this.#arrived++;
    this.#recent = this.#faded() + 1;
    this.#recentAt = this.#options.clock.now();
  }

  /** Calls per second that arrive here. */
  get rate(): number {
    return (this.#faded() * 1_000 * Math.LN2) / RATE_HALF_LIFE_MS;
  }

  #faded(): number {
    return this.#recent * fade(Math.max(0, this.#options.clock.now() - this.#recentAt), RATE_HALF_LIFE_MS);
  }

  order(order: Order): void {
    this.#orders.push(order);
  }

  /** Keeps an item for the next exchange; the isolate's own copy of the state knows it at once. */
  settle(item: Settlement): void {
    this.#pending.push(item);
    if (this.#pending.length > PENDING_MAX) this.#drop(this.#pending.length - PENDING_MAX);
    const bucket = this.buckets.get(item.bucket);
    const target = this.targets.get(item.target);
    if (bucket === undefined || target === undefined) return;
    const moment = { terms: this.#options.terms, now: this.now(), dice: 0 };
    // While the store is down our copy of the rows is the stand-in's, which has counted its own slots.
    const after = settle({ bucket, target }, this.#outage === null ? item : withoutMark(item), moment);
    this.#learn({ buckets: { [item.bucket]: after.bucket }, targets: { [item.target]: after.target } });
  }

  /** One exchange. An embedded ledger has answered when this returns; else `done` runs later. */
  run(want: readonly Want[], done: Done): void {
    const { clock } = this.#options;
    if (this.#outage !== null && clock.now() < this.#outage.retryAt) {
      done(this.#bridge(this.#outage, want), true);
      return;
    }
    this.#busy = true;
    const request = this.#request(want);
    const start = clock.now();
    const answer = this.#call(request);
    if (isReply(answer, want.length)) this.#accept(request, answer, start, done);
    else this.#insist(request, answer, start, done);
  }

  #call(request: ExchangeRequest): Answer {
    const { ledger, pool } = this.#options;
    try {
      const answer: unknown = ledger.exchange(pool, request);
      this.isRemote = isThenable(answer);
      // A foreign promise (a Durable Object's stub returns one) is none by its class.
      return this.isRemote ? Promise.resolve(answer as Promise<ExchangeReply>) : (answer as ExchangeReply);
    } catch (cause) {
      return new Thrown(cause);
    }
  }

  /**
   * Waits for an answer that has not come at once, and asks once more when the first try fails: a single slow or lost
   * exchange is no outage. The id is the same, so either answer will do, and the other one's slots are left over. A
   * store known to be down gets one try.
   */
  #insist(request: ExchangeRequest, first: Answer, firstStart: number, done: Done): void {
    const { clock } = this.#options;
    const tries = this.#outage === null ? 2 : 1;
    let isOpen = true;
    const attempt = (number: number, answer: Answer, start: number): void => {
      let isCurrent = true;
      let cancel = (): void => {};
      const miss = (cause: unknown): void => {
        if (!isCurrent) return;
        isCurrent = false;
        cancel();
        if (!isOpen) return;
        if (number < tries) {
          const again = clock.now();
          // Only the dice may roll anew.
          attempt(number + 1, this.#call({ ...request, dice: clock.random() }), again);
          return;
        }
        isOpen = false;
        this.#rest();
        this.#unsure = request;
        this.#fall(cause);
        this.run(request.want, done);
      };
      const hear = (reply: unknown): void => {
        if (!isReply(reply, request.want.length)) {
          miss(new Error("the ledger's reply has not the form of one"));
          return;
        }
        isCurrent = false;
        cancel();
        if (isOpen) {
          isOpen = false;
          this.#accept(request, reply, start, done);
        } else if (this.#outage === null) this.#options.onSpare(reply.leases);
      };
      if (answer instanceof Thrown) miss(answer.cause);
      else if (answer instanceof Promise) {
        const limit = number === 1 ? this.#time.timeoutMs : TIMEOUT_MAX_MS;
        cancel = clock.after(limit, () => miss(new Error(`no answer in ${Math.round(limit)} ms`)));
        answer.then(hear, miss);
      } else hear(answer);
    };
    attempt(1, first, firstStart);
  }

  #accept(request: ExchangeRequest, reply: ExchangeReply, start: number, done: Done): void {
    this.#rest();
    this.#forget(request);
    if (this.isRemote) this.#time.measure(start, this.#options.clock.now(), reply.now);
    else this.#time.meet(start, reply.now);
    this.#since = reply.version;
    this.#recover();
    const taken = this.#take(reply);
    this.#knowsAll = true;
    done(taken, false);
  }

  #rest(): void {
    this.#busy = false;
    for (const resolve of this.#idlers.splice(0)) resolve();
  }

  #request(want: readonly Want[]): ExchangeRequest {
    const { terms, clock } = this.#options;
    const leadMs = Math.max(this.#time.leadMs, this.#clearAt - this.now());
    const now = { terms, want, leadMs, skewMs: this.#time.skewMs, dice: clock.random() };
    // After an outage our copy holds the stand-in's rows: ask for everything.
    if (this.#unsure !== null) return { ...this.#unsure, ...now, since: 0 };
    return {
      ...now,
      id: `${this.#client}:${++this.#sequence}`,
      settle: this.#pending.slice(),
      orders: this.#orders.slice(),
      arrived: this.#arrived,
      since: this.#outage === null ? this.#since : 0,
    };
  }

  /** The ledger has the request: what it settled is no longer pending. */
  #forget(request: ExchangeRequest): void {
    this.#unsure = null;
    this.#pending.splice(0, request.settle.length);
    this.#orders.splice(0, request.orders?.length ?? 0);
    this.#arrived -= request.arrived;
  }

  #fall(cause: unknown): void {
    if (this.#outage !== null) {
      this.#outage.lengthen();
      return;
    }
    const { terms, clock } = this.#options;
    this.#outage = new Outage({
      terms,
      clock,
      client: this.#client,
      ledgerNow: () => this.now(),
      clients: this.clients,
      seed: { buckets: Object.fromEntries(this.buckets), targets: Object.fromEntries(this.targets) },
      settled: this.#pending.length,
    });
    this.#options.onDown(cause);
  }

  #bridge(outage: Outage, want: readonly Want[]): ExchangeReply {
    const { terms } = this.#options;
    const reply = outage.exchange(want, this.#pending);
    for (const { at } of reply.leases) this.#clearAt = Math.max(this.#clearAt, at + terms.windowMs + terms.jitterMs);
    return this.#take(reply);
  }

  /** A long outage: the oldest news goes first, but never what an unanswered request may have brought already. */
  #drop(count: number): void {
    const kept = this.#unsure?.settle.length ?? 0;
    this.#pending.splice(kept, count);
    this.#outage?.dropped(kept, count);
  }

  #recover(): void {
    if (this.#outage === null) return;
    this.#options.onUp(this.#options.clock.now() - this.#outage.since);
    this.#outage = null;
  }

  #take(reply: ExchangeReply): ExchangeReply {
    if (this.#outage === null) {
      this.demand = reply.demand;
      this.clients = reply.clients;
      this.suspicions = reply.suspicions;
    }
    this.#learn(this.#outage === null ? this.#withPending(reply.changes) : reply.changes);
    return reply;
  }

  /** The ledger's rows as they will be when it has heard what is pending: our copy must not fall back behind its own news. */
  #withPending(changes: Changes): Changes {
    if (this.#pending.length === 0) return changes;
    const buckets = { ...changes.buckets };
    const targets = { ...changes.targets };
    const moment = { terms: this.#options.terms, now: this.now(), dice: 0 };
    for (const item of this.#pending) {
      const bucket = buckets[item.bucket] ?? this.buckets.get(item.bucket);
      const target = targets[item.target] ?? this.targets.get(item.target);
      if (bucket === undefined || target === undefined) continue;
      const after = settle({ bucket, target }, item, moment);
      if (item.bucket in buckets) buckets[item.bucket] = after.bucket;
      if (item.target in targets) targets[item.target] = after.target;
    }
    return { buckets, targets };
  }

  #learn(changes: Changes): void {
    for (const id in changes.buckets) {
      const row = changes.buckets[id];
      if (row === undefined) continue;
      const before = this.buckets.get(id) ?? (this.#knowsAll ? newBucket(this.#options.terms) : undefined);
      this.buckets.set(id, row);
      this.#options.onBucket(id, row, before);
    }
    for (const id in changes.targets) {
      const row = changes.targets[id];
      if (row === undefined) continue;
      const before = this.targets.get(id) ?? (this.#knowsAll ? newTarget() : undefined);
      this.targets.set(id, row);
      this.#options.onTarget(id, row, before);
    }
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
