import type { Settlement } from "../ports/ledger.ts";
import type { Verdict } from "../ports/verdict.ts";

type Effects = Omit<Settlement, "bucket" | "target" | "at" | "epoch" | "outcome">;

/** What the engine does about an answer. */
export interface Reaction {
  /** `answer`: it goes to the caller as it is. `replay`: another target is tried. */
  readonly next: "answer" | "replay";
  readonly outcome: Settlement["outcome"];
  readonly effects: Effects;
  /** The same news for every other target behind this base URL. */
  readonly neighbours: Effects | null;
  /** A replay on an untried target does not use up an attempt (a quota refusal says nothing against the call). */
  readonly free: boolean;
  /** What is not asked again for this call: the one target, or all behind its base URL. */
  readonly avoid: "target" | "base_url";
  /** When no target is left: the upstream's own words explain it best, or an error of ours does. */
  readonly lastly: "answer" | "error";
}

const SECOND_MS = 1_000;
/** Transient faults of one target (spec 1): doubling from half a second, at most 30 s. */
const FAULT_BACKOFF = { baseMs: 500, capMs: 30_000 };
/** Load shedding lasts seconds to minutes. */
const SHED_BACKOFF = { baseMs: 2_000, capMs: 120_000 };
/** An address that the upstream blocks stays blocked for a while, and asking again makes it longer. */
const BLOCKED_MS = 60_000;
/** A plan does not change from one minute to the next. */
const CANNOT_MS = 900_000;
const BILLING_MS = 3_600_000;

const ANSWER: Reaction = {
  next: "answer",
  outcome: "ok",
  effects: {},
  neighbours: null,
  free: false,
  avoid: "target",
  lastly: "answer",
};
const REPLAY: Reaction = { ...ANSWER, next: "replay", outcome: "failed", lastly: "error" };

function isShared(verdict: Verdict): boolean {
  return verdict.scope.startsWith("ip") || verdict.scope.startsWith("upstream");
}

/** A cooldown of the whole base URL where the verdict speaks of our address or of the upstream, else of one holder. */
function cooled(
  verdict: Verdict,
  what: "target" | "bucket",
  leastMs: number,
): Pick<Reaction, "effects" | "neighbours" | "avoid"> {
  const ms = Math.max(leastMs, verdict.retryAfterMs ?? 0);
  const effects: Effects = { error: verdict.class, cool: { what, ms, reason: verdict.reason } };
  if (!isShared(verdict)) return { effects, neighbours: null, avoid: "target" };
  const shared: Effects = { cool: { what: "target", ms, reason: verdict.reason } };
  return { effects: { ...effects, ...shared }, neighbours: shared, avoid: "base_url" };
}

function backedOff(verdict: Verdict, backoff: { baseMs: number; capMs: number }): Effects {
  const reason = verdict.reason;
  const asked = verdict.retryAfterMs;
  const cool = asked === undefined ? {} : { cool: { what: "target" as const, ms: asked, reason } };
  return { error: verdict.class, backoff: { ...backoff, reason }, ...cool };
}

/** The need that the verdict speaks of (`key+chain` → `chain:1`), if the call has one of that kind. */
function needOf(verdict: Verdict, needs: readonly string[]): string | undefined {
  const kind = verdict.scope.split("+")[1];
  return kind === undefined ? undefined : needs.find((need) => need.startsWith(`${kind}:`));
}

/**
 * The reaction to each class of answer (spec 1, "Reaction by class"). `needs` are the call's, `status` is the HTTP
 * status or null when there was no answer; `isProven` tells that something behind this base URL has answered well.
 */
export function reactionTo(
  verdict: Verdict,
  needs: readonly string[],
  status: number | null,
  isProven: boolean,
): Reaction {
  const error = verdict.class;
  switch (error) {
    case "ok":
    case "tx_known":
    case "caller_fault":
    case "range_too_large":
    case "request_too_large":
    case "content_policy":
      return ANSWER;
    case "rate_limited_second": {
      const cooling = cooled(verdict, "bucket", SECOND_MS);
      // A limit per address says nothing about the ceiling of the account.
      const learnt = isShared(verdict) ? {} : { observedLimit: verdict.observedLimit ?? 0 };
      return { ...REPLAY, ...cooling, effects: { ...cooling.effects, ...learnt }, outcome: "refused", free: true };
    }
    case "rate_limited_daily": {
      const wait = verdict.retryAfterMs;
      const need = needOf(verdict, needs);
      if (need !== undefined) {
        // A quota of one chain or method: the rest of the account's day is untouched.
        const cannot = { need, ms: wait ?? CANNOT_MS };
        return { ...REPLAY, effects: { error, cannot }, outcome: "neutral", free: true };
      }
      const effects: Effects =
        wait === undefined ? { error, parkDay: true } : { error, cool: { what: "bucket", ms: wait, reason: error } };
      return { ...REPLAY, effects, outcome: "refused", free: true };
    }
    case "key_invalid":
      if (isShared(verdict))
        return { ...REPLAY, ...cooled(verdict, "target", BLOCKED_MS), outcome: "neutral", free: true };
      return { ...REPLAY, effects: { error, disable: error }, free: true };
    case "key_forbidden": {
      const need = needOf(verdict, needs) ?? needs[0];
      const effects: Effects =
        need === undefined ? cooled(verdict, "target", BLOCKED_MS).effects : { error, cannot: { need, ms: CANNOT_MS } };
      return { ...REPLAY, effects, outcome: "neutral", free: true, lastly: "answer" };
    }
    case "billing":
      return { ...REPLAY, effects: { error, cool: { what: "bucket", ms: BILLING_MS, reason: error } }, free: true };
    case "overloaded":
      if (verdict.scope.startsWith("ip")) return { ...REPLAY, ...cooled(verdict, "target", SHED_BACKOFF.baseMs) };
      // "Server too busy" may be the fault of one heavy query: it must not stop the whole pool, and it counts as a try.
      return { ...REPLAY, effects: backedOff(verdict, SHED_BACKOFF), free: !isShared(verdict) };
    case "network": {
      // A node behind a well answering upstream gave up on this call: not the key's fault.
      const behind = verdict.scope.startsWith("node") && status === 200;
      if (behind) return { ...REPLAY, outcome: "neutral", effects: { error }, lastly: "answer" };
      return { ...REPLAY, effects: backedOff(verdict, FAULT_BACKOFF) };
    }
    case "node_lagging":
      return { ...REPLAY, outcome: "neutral", effects: { error }, lastly: "answer" };
    case "method_unsupported": {
      if (verdict.scope === "request") return ANSWER;
      if (verdict.scope.startsWith("key")) {
        const need = needOf(verdict, needs) ?? needs.at(-1);
        const cannot = need === undefined ? {} : { cannot: { need, ms: CANNOT_MS } };
        return { ...REPLAY, outcome: "neutral", effects: { error, ...cannot }, free: true, lastly: "answer" };
      }
      const need = needOf(verdict, needs);
      if (need === undefined && (isProven || verdict.scope.includes("+"))) {
        // A base URL that serves others: it is this one request that it has no answer for.
        return { ...REPLAY, outcome: "neutral", effects: { error }, avoid: "base_url" };
      }
      if (need === undefined) {
        // The whole base URL answers nothing (a wrong path): out for a while, and the operator hears of it.
        return { ...REPLAY, ...cooled(verdict, "target", BLOCKED_MS), outcome: "neutral", free: true };
      }
      const shared: Effects = { cannot: { need, ms: CANNOT_MS } };
      const effects = { error, ...shared };
      return {
        ...REPLAY,
        outcome: "neutral",
        effects,
        neighbours: shared,
        free: true,
        avoid: "base_url",
        lastly: "answer",
      };
    }
  }
}
