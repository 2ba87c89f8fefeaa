import { ceiling, dayReadyAt, gapAt, hasForeignUse, newBucket } from "../ledger/bucket.ts";
import { opensAt } from "../ledger/gate.ts";
import { isSick } from "../ledger/health.ts";
import { DAY_MS, dayOf, isSpent } from "../ledger/window.ts";
import type { BucketTerms, Pick } from "../ports/ledger.ts";
import type { BucketState, Gate, TargetState } from "../ports/state.ts";
import { Ranking } from "./ranking.ts";
import type { Strategy, StrategyContext } from "./strategy.ts";
import type { Target } from "./target.ts";

/** Ranks fade with time even where nothing happens: they are made anew this often. */
const REFRESH_MS = 1_000;
/** The healthy carry the demand when it is below this part of their pace. */
const COVERED_BELOW = 0.95;
/** A probe goes before everything else. */
const PROBE_PENALTY_MS = -60_000;

interface Rows {
  readonly buckets: ReadonlyMap<string, BucketState>;
  readonly targets: ReadonlyMap<string, TargetState>;
}

/** What a call asks of a target. */
export interface Seeker {
  readonly needs: readonly string[];
  readonly tried: ReadonlySet<string>;
  /** Whether a target that was tried is better than none. */
  readonly relaxed: boolean;
}

/** The targets of a pool as this isolate sees them: who is ready when, who is sick, what all can carry. */
export class Board {
  readonly #targets = new Map<string, Target>();
  readonly #byBucket = new Map<string, Target[]>();
  readonly #ranking = new Ranking();
  readonly #sick = new Set<string>();
  readonly #rows: Rows;
  readonly #terms: BucketTerms;
  readonly #strategy: Strategy;
  #context: StrategyContext = { now: 0, covered: true };
  #refreshedAt = -Infinity;

  constructor(targets: readonly Target[], rows: Rows, terms: BucketTerms, strategy: Strategy) {
    this.#rows = rows;
    this.#terms = terms;
    this.#strategy = strategy;
    for (const target of targets) {
      this.#targets.set(target.id, target);
      const mates = this.#byBucket.get(target.bucket);
      if (mates === undefined) this.#byBucket.set(target.bucket, [target]);
      else mates.push(target);
    }
  }

  get(id: string): Target | undefined {
    return this.#targets.get(id);
  }

  all(): Iterable<Target> {
    return this.#targets.values();
  }

  bucketsWithTargets(): Iterable<readonly [string, readonly Target[]]> {
    return this.#byBucket;
  }

  /** All other targets behind the same base URL. */
  neighbours(of: Target): Target[] {
    return [...this.#targets.values()].filter((target) => target !== of && target.baseUrl === of.baseUrl);
  }

  /** Whether this target or another behind the same base URL has given a good answer since its last failure. */
  isProven(of: Target): boolean {
    return [of, ...this.neighbours(of)].some(({ id }) => (this.#rows.targets.get(id)?.health.streak ?? 0) > 0);
  }

  bucketChanged(id: string, now: number): void {
    for (const target of this.#byBucket.get(id) ?? []) this.#place(target, now);
  }

  targetChanged(id: string, now: number): void {
    const target = this.#targets.get(id);
    if (target !== undefined) this.#place(target, now);
  }

  /** Makes all ranks anew once a second, or at once when the demand outgrows the healthy (or comes back below). */
  refresh(now: number, demand: number): void {
    if (now - this.#refreshedAt < REFRESH_MS) return;
    this.#refreshedAt = now;
    this.#context = { now, covered: demand <= COVERED_BELOW * this.#pace(now, true) };
    for (const target of this.#targets.values()) this.#place(target, now);
  }

  /** May a call with these needs go to this target? */
  accepts(seeker: Seeker, target: Target, now: number): boolean {
    if (!seeker.relaxed && seeker.tried.has(target.id)) return false;
    const cannot = this.#rows.targets.get(target.id)?.cannot;
    if (cannot === undefined) return true;
    for (const need of seeker.needs) if ((cannot[need] ?? 0) > now) return false;
    return true;
  }

  /** Whether a slot leased earlier still stands: no recalibration, cooldown or disabling has overtaken it. */
  honours(slot: { bucket: string; target: string; at: number; epoch: number }): boolean {
    const bucket = this.#rows.buckets.get(slot.bucket);
    const target = this.#rows.targets.get(slot.target);
    const closed = (gate: Gate | undefined) => gate?.kind === "cooling" && gate.until > slot.at;
    if (bucket !== undefined && bucket.epoch !== slot.epoch) return false;
    return !closed(bucket?.gate) && !closed(target?.gate) && (target?.disabled ?? null) === null;
  }

  /** Up to `count` places for a call, best first; empty when none is ready by `deadline`. */
  picks(seeker: Seeker, count: number, now: number, deadline: number): Pick[] {
    const accept = (target: Target) => this.accepts(seeker, target, now);
    const ranked = this.#ranking.best(now, count, accept).filter((place) => place.readyAt <= deadline);
    if (ranked.length === 0) {
      // The cheapest by start + penalty may all start too late while a dearer one starts in time.
      for (const place of this.#ranking.all()) {
        if (place.readyAt <= deadline && accept(place.target)) ranked.push(place);
        if (ranked.length === count) break;
      }
    }
    const picks: Pick[] = ranked.map(({ target, penaltyMs }) => ({
      bucket: target.bucket,
      target: target.id,
      penaltyMs,
    }));
    const probe = ranked.length === 0 ? undefined : this.#probe(accept, now);
    if (probe !== undefined) picks.unshift(probe);
    return picks;
  }

  /** When the first target that could ever serve the call is ready, epoch ms; Infinity when none will be. */
  readyAt(seeker: Seeker, now: number): number {
    return this.#soonest(seeker, (target) => this.readyAtOf(target, now));
  }

  /** When the first target that could serve the call is in service, however busy it is, epoch ms; Infinity when none will be. */
  backAt(seeker: Seeker, now: number): number {
    return this.#soonest(seeker, (target) => this.#inServiceAt(target, now));
  }

  /** When the target can take a call, epoch ms; Infinity while it is disabled. */
  readyAtOf(target: Target, now: number): number {
    const bucket = this.#rows.buckets.get(target.bucket);
    const state = this.#rows.targets.get(target.id);
    const gate = state === undefined ? 0 : opensAt(state.gate);
    const inService = Math.max(gate, this.#inServiceAt(target, now));
    if (bucket === undefined || inService === Infinity) return inService;
    const soonest = Math.max(inService, opensAt(bucket.gate), dayReadyAt(bucket, this.#terms));
    const returned = bucket.free.find((at) => at >= Math.max(now, soonest));
    return returned ?? Math.max(bucket.tat, soonest);
  }

  #soonest(seeker: Seeker, of: (target: Target) => number): number {
    let soonest = Infinity;
    for (const target of this.#targets.values()) {
      if (!seeker.relaxed && seeker.tried.has(target.id)) continue;
      const cannot = this.#rows.targets.get(target.id)?.cannot ?? {};
      const able = Math.max(0, ...seeker.needs.map((need) => cannot[need] ?? 0));
      soonest = Math.min(soonest, Math.max(able, of(target)));
    }
    return soonest;
  }

  /** When no cooldown, spent day or disabling keeps calls away any more. A probe under way may end at any moment. */
  #inServiceAt(target: Target, now: number): number {
    const state = this.#rows.targets.get(target.id);
    const bucket = this.#rows.buckets.get(target.bucket);
    if (state !== undefined && state.disabled !== null) return Infinity;
    const dayIsSpent = bucket !== undefined && isSpent(bucket.today, now, this.#terms.dailyStop);
    const cools = (gate: Gate | undefined) => (gate?.kind === "cooling" ? gate.until : 0);
    return Math.max(cools(bucket?.gate), cools(state?.gate), dayIsSpent ? (dayOf(now) + 1) * DAY_MS : 0);
  }

  /** Calls per second that the living pool may make by its ceilings; a bucket counts once. */
  capacity(now: number): number {
    return this.#pace(now, false);
  }

  #pace(now: number, healthyOnly: boolean): number {
    let rate = 0;
    for (const [id, targets] of this.#byBucket) {
      const bucket = this.#rows.buckets.get(id) ?? newBucket(this.#terms);
      const lives = targets.some((target) => {
        const state = this.#rows.targets.get(target.id);
        const away = this.readyAtOf(target, now) - now > 60_000;
        return !away && !(healthyOnly && state !== undefined && isSick(state.health, now));
      });
      if (lives) rate += healthyOnly ? 1_000 / gapAt(bucket, this.#terms, now) : ceiling(bucket, this.#terms);
    }
    return rate;
  }

  /** What we allow ourselves of a bucket's ceiling now, calls per second, and whether somebody else spends it too. */
  paceOf(bucket: BucketState, now: number): { pace: number; foreignUse: boolean } {
    return { pace: 1_000 / gapAt(bucket, this.#terms, now), foreignUse: hasForeignUse(bucket, now) };
  }

  #probe(accept: (target: Target) => boolean, now: number): Pick | undefined {
    for (const id of this.#sick) {
      const target = this.#targets.get(id);
      const state = this.#rows.targets.get(id);
      if (target === undefined || state === undefined || state.health.probeAt > now) continue;
      if (this.readyAtOf(target, now) > now || !accept(target)) continue;
      return { bucket: target.bucket, target: id, penaltyMs: PROBE_PENALTY_MS, probe: true };
    }
    return undefined;
  }

  #place(target: Target, now: number): void {
    const state = this.#rows.targets.get(target.id);
    if (state !== undefined && isSick(state.health, now)) this.#sick.add(target.id);
    else this.#sick.delete(target.id);
    const context = { now, covered: this.#context.covered };
    const place = {
      readyAt: this.readyAtOf(target, now),
      penaltyMs: this.#strategy.penaltyMs(target, state, context),
      rank: this.#strategy.rank(target, state, context),
    };
    this.#ranking.set(target, place, now);
  }
}
