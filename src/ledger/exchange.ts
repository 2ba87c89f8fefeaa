import { fade } from "../lib/fade.ts";
import type { Changes, ExchangeReply, ExchangeRequest, Lease, Pick, Want } from "../ports/ledger.ts";
import type { BucketState, ClientState, PoolHead, TargetState } from "../ports/state.ts";
import { dayReadyAt, newBucket, take } from "./bucket.ts";
import { follow, remember, standing, suspect } from "./coincidence.ts";
import { opensAt, pass, PROBE_TTL_MS } from "./gate.ts";
import { dayEnds, newTarget, settle } from "./settle.ts";
import { tick } from "./time.ts";
import { count, countDay, isSpent } from "./window.ts";

/** No slot is granted further ahead: what an isolate holds when it dies lapses within this time. */
export const HORIZON_MS = 1_500;
/** Largest allowance for clock mapping when the holder of a bucket changes. */
const HANDOVER_MAX_MS = 50;
/** Demand is an average that fades with this time constant … */
const DEMAND_TAU_MS = 5_000;
/** … and loses half in this time. */
const DEMAND_HALF_LIFE_MS = DEMAND_TAU_MS * Math.LN2;
/** A client unheard of for this long no longer counts as one of the fleet … */
const CLIENT_LIVE_MS = 30_000;
/** … and is forgotten after this long, or when there are too many: a repeated request of its would settle again. */
const CLIENT_KEPT_MS = 300_000;
const CLIENTS_MAX = 512;
/** Soonest that asking again for a refused slot is worth while: a few have come within the horizon by then. */
const RETRY_MIN_MS = 100;

/** What the reducer may read of one pool. */
export interface PoolRows {
  readonly head: PoolHead;
  bucket(id: string): BucketState | undefined;
  target(id: string): TargetState | undefined;
}

/** The rows to write, all of them or none. */
export interface ExchangeResult {
  readonly head: PoolHead;
  readonly buckets: ReadonlyMap<string, BucketState>;
  readonly targets: ReadonlyMap<string, TargetState>;
  /** The store adds `changes` and the version they bring the client to. */
  readonly reply: Omit<ExchangeReply, "changes" | "version">;
}

export const EMPTY_HEAD: PoolHead = {
  version: 0,
  now: 0,
  clock: 0,
  ahead: 0,
  restUntil: 0,
  arrivals: 0,
  arrivalsAt: 0,
  clients: {},
  recent: [],
  coincidences: {},
  suspicions: [],
};

export const NO_CHANGES: Changes = { buckets: {}, targets: {} };

/** The rows that `request` reads: a store may load these alone. */
export function touched(request: ExchangeRequest): { buckets: Set<string>; targets: Set<string> } {
  const buckets = new Set<string>();
  const targets = new Set<string>();
  for (const item of [...request.settle, ...request.want.flatMap((want) => want.picks)]) {
    buckets.add(item.bucket);
    targets.add(item.target);
  }
  for (const order of request.orders ?? []) targets.add(order.target);
  return { buckets, targets };
}

/**
 * The whole state machine: settles what happened, obeys orders, leases what is wanted. Pure: the same rows, request and
 * time give the same result on every store. `clockNow` is the store's own clock, epoch ms.
 */
export function exchange(rows: PoolRows, request: ExchangeRequest, clockNow: number): ExchangeResult {
  return new Exchange(rows, request, clockNow).run();
}

class Exchange {
  readonly #rows: PoolRows;
  readonly #request: ExchangeRequest;
  readonly #time: ReturnType<typeof tick>;
  readonly #now: number;
  readonly #client: string;
  readonly #version: number;
  readonly #buckets = new Map<string, BucketState>();
  readonly #targets = new Map<string, TargetState>();
  #coincidences: PoolHead["coincidences"];
  #suspicions: PoolHead["suspicions"];

  constructor(rows: PoolRows, request: ExchangeRequest, clockNow: number) {
    this.#rows = rows;
    this.#request = request;
    this.#time = tick(rows.head, clockNow);
    this.#now = this.#time.now;
    this.#client = request.id.split(":").slice(0, -1).join(":");
    this.#version = rows.head.version + 1;
    this.#coincidences = rows.head.coincidences;
    this.#suspicions = rows.head.suspicions;
  }

  run(): ExchangeResult {
    const { head } = this.#rows;
    const request = this.#request;
    const sequence = Number(request.id.slice(this.#client.length + 1));
    const repeated = sequence <= (head.clients[this.#client]?.sequence ?? -1);
    if (!repeated) {
      this.#settle();
      this.#obey();
    }
    const leases: Lease[] = [];
    const retryAt = request.want.map((want, index) => this.#lease(want, index, leases));
    const used = leases.map((lease) => [lease.bucket, lease.at] as const);
    const clients = this.#clients(repeated ? 0 : sequence);
    const arrivals =
      head.arrivals * fade(this.#now - head.arrivalsAt, DEMAND_HALF_LIFE_MS) + (repeated ? 0 : request.arrived);
    return {
      head: {
        ...this.#time,
        restUntil: head.restUntil,
        version: this.#version,
        arrivals,
        arrivalsAt: this.#now,
        clients,
        recent: remember(head.recent, used),
        coincidences: this.#coincidences,
        suspicions: this.#suspicions,
      },
      buckets: this.#buckets,
      targets: this.#targets,
      reply: {
        leases,
        retryAt,
        now: this.#now,
        demand: (arrivals * 1_000) / DEMAND_TAU_MS,
        clients: live(clients, this.#now),
        suspicions: standing(this.#suspicions, this.#now),
      },
    };
  }

  #bucket(id: string): BucketState {
    return this.#buckets.get(id) ?? this.#rows.bucket(id) ?? newBucket(this.#request.terms);
  }

  #target(id: string): TargetState {
    return this.#targets.get(id) ?? this.#rows.target(id) ?? newTarget();
  }

  #write(bucketId: string, bucket: BucketState, targetId: string, target: TargetState): void {
    this.#buckets.set(bucketId, { ...bucket, version: this.#version });
    this.#targets.set(targetId, { ...target, version: this.#version });
  }

  #settle(): void {
    const { terms, dice } = this.#request;
    const moment = { terms, now: this.#now, dice };
    for (const item of this.#request.settle) {
      const rows = settle({ bucket: this.#bucket(item.bucket), target: this.#target(item.target) }, item, moment);
      this.#write(item.bucket, rows.bucket, item.target, rows.target);
      if (item.outcome === "ok" || item.observedLimit !== undefined) {
        const call = { bucket: item.bucket, at: item.at, refused: item.observedLimit !== undefined };
        const evidence = { recent: this.#rows.head.recent, coincidences: this.#coincidences };
        this.#coincidences = follow(evidence, call, terms.windowMs);
        if (call.refused) this.#suspicions = suspect(this.#coincidences, this.#suspicions, this.#now);
      }
    }
  }

  #obey(): void {
    for (const { target, action } of this.#request.orders ?? []) {
      const state = this.#target(target);
      const enabled = { ...newTarget(), window: state.window, today: state.today, ok: state.ok, failed: state.failed };
      const next = action === "disable" ? { ...state, disabled: "operator" } : enabled;
      this.#targets.set(target, { ...next, version: this.#version });
    }
  }

  /** Leases up to `want.n` slots; returns when to ask again for the rest, 0 when there is no rest. */
  #lease(want: Want, index: number, leases: Lease[]): number {
    const latest = this.#now + Math.min(want.withinMs, HORIZON_MS);
    const spent = new Set<Pick>();
    for (let granted = 0; granted < want.n; granted++) {
      let best: Pick | undefined;
      let bestAt = Infinity;
      let bestCost = Infinity;
      let soonest = Infinity;
      for (const pick of want.picks) {
        if (spent.has(pick)) continue;
        const at = this.#startOf(pick, want);
        soonest = Math.min(soonest, at);
        if (at > latest || at + pick.penaltyMs >= bestCost) continue;
        best = pick;
        bestAt = at;
        bestCost = at + pick.penaltyMs;
      }
      if (best === undefined) return this.#retryAt(soonest, want.withinMs);
      leases.push(this.#grant(best, bestAt, want.cost, index));
      if (best.probe === true || want.ignoreCooldown === true) spent.add(best);
    }
    return 0;
  }

  /** Earliest instant at which a call could leave by this pick, epoch ms; Infinity when it may not at all. */
  #startOf(pick: Pick, { cost, ignoreCooldown }: Want): number {
    const bucket = this.#bucket(pick.bucket);
    const target = this.#target(pick.target);
    const { terms, leadMs, skewMs, dice } = this.#request;
    if (target.disabled !== null) return Infinity;
    if (pick.probe === true && target.health.probeAt > this.#now) return Infinity;
    const soonest = Math.max(this.#now + leadMs, this.#rows.head.restUntil);
    const gates = ignoreCooldown === true ? 0 : Math.max(opensAt(bucket.gate), opensAt(target.gate));
    const dayReady = dayReadyAt(bucket, terms);
    // What a returned slot had reserved is not known: it may be too little for a call of several units.
    const free = cost > 1 ? undefined : bucket.free.find((at) => at >= Math.max(soonest, gates, dayReady));
    const handover = bucket.holder === this.#client || bucket.holder === "" ? 0 : Math.min(skewMs, HANDOVER_MAX_MS);
    const at = free ?? Math.max(soonest, bucket.tat + handover, gates, dayReady);
    return isSpent(bucket.today, at, terms.dailyStop) ? Math.max(at, dayEnds(at, dice)) : at;
  }

  #grant(pick: Pick, at: number, cost: number, want: number): Lease {
    const { terms } = this.#request;
    const before = this.#bucket(pick.bucket);
    const bucket = { ...before, gate: pass(before.gate, at, this.#client) };
    const target = this.#target(pick.target);
    const gate = pass(target.gate, at, this.#client);
    const reissued = bucket.free.includes(at);
    const health = pick.probe === true ? { ...target.health, probeAt: at + PROBE_TTL_MS } : target.health;
    this.#write(
      pick.bucket,
      {
        ...take(bucket, terms, { at, cost, client: this.#client, reissued, gate }),
        today: countDay(bucket.today, at, 1),
      },
      pick.target,
      {
        ...target,
        health,
        gate,
        window: count(target.window, this.#now, 1, 0),
        lastAt: Math.max(target.lastAt, at),
        today: countDay(target.today, at, 1),
      },
    );
    return { want, bucket: pick.bucket, target: pick.target, at, epoch: bucket.epoch, probe: pick.probe === true };
  }

  /** Staggered by the dice, so that a hundred clients that were refused together do not come back together. */
  #retryAt(soonest: number, withinMs: number): number {
    const earliest = this.#now + RETRY_MIN_MS * (1 + this.#request.dice);
    if (soonest === Infinity) return this.#now + HORIZON_MS * (1 + this.#request.dice);
    return Math.max(earliest, soonest - Math.min(withinMs, HORIZON_MS) + RETRY_MIN_MS * this.#request.dice);
  }

  #clients(sequence: number): PoolHead["clients"] {
    const before = this.#rows.head.clients;
    const mine: ClientState = {
      sequence: Math.max(sequence, before[this.#client]?.sequence ?? 0),
      seenAt: this.#now,
    };
    const known = Object.keys(before);
    if (known.length === 0 || (known.length === 1 && known[0] === this.#client)) return { [this.#client]: mine };
    const others = Object.entries(before)
      .filter(([id, client]) => id !== this.#client && client.seenAt > this.#now - CLIENT_KEPT_MS)
      .sort(([idA, a], [idB, b]) => a.seenAt - b.seenAt || (idA < idB ? -1 : 1))
      .slice(1 - CLIENTS_MAX);
    return Object.fromEntries([...others, [this.#client, mine]]);
  }
}

function live(clients: PoolHead["clients"], now: number): number {
  let number = 0;
  for (const client of Object.values(clients)) if (client.seenAt > now - CLIENT_LIVE_MS) number++;
  return number;
}
