import { SluiceError } from "../errors.ts";
import { seconds } from "../lib/duration.ts";
import { forwardableHeaders } from "../lib/forward-headers.ts";
import type { Clock } from "../ports/clock.ts";
import type { Transport } from "../ports/transport.ts";
import type { Verdict } from "../ports/verdict.ts";
import { checkedCost, checkedRequest } from "./checked.ts";
import type { AttemptTrace, CallOptions, CallResult } from "./call.ts";
import type { UpstreamDefinition } from "./definition.ts";
import { hideCredential } from "./hide-credential.ts";
import type { Pool } from "./pool.ts";
import type { CallCounts } from "./pool-stats.ts";
import { clientGone } from "./refusals.ts";
import type { Slot } from "./queue.ts";
import { type Reaction, reactionTo } from "./reaction.ts";
import { type RoundTrip, roundTrip } from "./round-trip.ts";
import type { Target } from "./target.ts";

/** However many targets there are: one call never spends more than this, each attempt being a subrequest. */
const ATTEMPTS_CEILING = 40;
const TEXT = new TextDecoder();

export interface AttemptOptions {
  readonly pool: Pool;
  readonly counts: CallCounts;
  readonly definition: UpstreamDefinition;
  readonly transport: Transport;
  readonly clock: Clock;
}

/** The call with the slot's credential. A protocol that fails at it costs nobody a slot. */
function attached(call: unknown, slot: Slot, { pool, definition }: AttemptOptions): Request {
  try {
    return checkedRequest(definition.protocol.attach(call, slot.to));
  } catch (error) {
    pool.giveBack(slot);
    throw error;
  }
}

interface Tried {
  readonly trip: RoundTrip;
  readonly verdict: Verdict;
  readonly reaction: Reaction;
}

/** The call on its road: choose → admit → send → judge → answer, or the next target. Throws a SluiceError. */
export async function runCall(call: unknown, options: CallOptions, road: AttemptOptions): Promise<CallResult> {
  const { pool, definition, clock } = road;
  const { protocol, maxAttempts, maxWaitMs } = definition;
  const needs = protocol.needs(call);
  const cost = checkedCost(protocol.weigh(call));
  const tried = new Set<string>();
  const attempts: AttemptTrace[] = [];
  let waitMs = maxWaitMs;
  let spent = 0;
  let last: Tried | null = null;
  for (;;) {
    const queuedAt = clock.now();
    let slot: Awaited<ReturnType<Pool["admit"]>>;
    try {
      const admission = { priority: options.priority ?? "interactive", needs, cost, tried: new Set(tried), waitMs };
      const admitted = pool.admit({ ...admission, signal: options.signal });
      slot = admitted instanceof Promise ? await admitted : admitted;
    } catch (error) {
      // The pool can serve no further attempt: the last answer says why better than "no slot" does.
      if (last === null || (error instanceof SluiceError && error.code === "client_gone")) throw error;
      return lastWord(last, attempts, error instanceof SluiceError ? error.retryAfterMs : undefined, error);
    }
    if (options.signal?.aborted) {
      pool.giveBack(slot);
      throw clientGone();
    }
    const sentAt = clock.now();
    waitMs = Math.max(0, waitMs - (sentAt - queuedAt));
    const came = await roundTrip(attached(call, slot, road), {
      ...road,
      ...definition,
      ...options,
      transport: road.transport,
    });
    if (came.kind === "client_gone") {
      pool.settle(slot, "none", {});
      throw clientGone();
    }
    const text = came.kind === "answer" ? TEXT.decode(came.body) : "";
    const trip = came.kind === "answer" ? { ...came, body: hideCredential(came.body, text, slot.to) } : came;
    const verdict = judged(trip, text, call, definition);
    const status = trip.kind === "answer" ? trip.status : null;
    const reaction = reactionTo(verdict, needs, status, pool.board.isProven(slot.to));
    road.counts.attempts++;
    if (reaction.outcome === "refused") road.counts.refused++;
    pool.settle(slot, reaction.outcome, reaction.effects);
    if (reaction.neighbours !== null) pool.tell(pool.board.neighbours(slot.to), reaction.neighbours);
    attempts.push({
      target: slot.target,
      waitedMs: Math.round(sentAt - queuedAt),
      tookMs: Math.round(clock.now() - sentAt),
      status,
      class: verdict.class,
      reason: verdict.reason,
    });
    last = { trip, verdict, reaction };
    if (reaction.next === "answer" && trip.kind === "answer") return toResult(trip, verdict, attempts);
    if (trip.kind === "too_large") throw tooLarge(definition.maxResponseBytes);
    avoid(slot.to, reaction, tried, pool);
    if (!(reaction.free && pool.offersUntried(needs, tried, waitMs))) spent++;
    if (spent >= maxAttempts || attempts.length >= ATTEMPTS_CEILING || isFutile(reaction, pool, tried)) {
      return lastWord(last, attempts, undefined, undefined);
    }
  }
}

/** What is no key's fault cannot be mended by asking a key again. */
function isFutile(reaction: Reaction, pool: Pool, tried: ReadonlySet<string>): boolean {
  // Where others were told to stay away too, the pool knows when they are back.
  const isOfTheCall = reaction.outcome === "neutral" && reaction.avoid === "base_url" && reaction.neighbours === null;
  if (reaction.lastly !== "answer" && !isOfTheCall) return false;
  for (const target of pool.board.all()) if (!tried.has(target.id)) return false;
  return true;
}

function avoid(target: Target, reaction: Reaction, tried: Set<string>, pool: Pool): void {
  tried.add(target.id);
  if (reaction.avoid === "base_url") for (const neighbour of pool.board.neighbours(target)) tried.add(neighbour.id);
}

function judged(trip: RoundTrip, text: string, call: unknown, { protocol }: UpstreamDefinition): Verdict {
  if (trip.kind === "fault") return { class: "network", scope: "key", reason: trip.reason };
  if (trip.kind !== "answer") return { class: "range_too_large", scope: "request", reason: "answer_too_large" };
  const { status, headers } = trip;
  return protocol.judge({ status, headers, body: text }, protocol.facts(call));
}

function toResult(
  trip: RoundTrip & { kind: "answer" },
  verdict: Verdict,
  attempts: readonly AttemptTrace[],
): CallResult {
  return { status: trip.status, headers: forwardableHeaders(trip.headers), body: trip.body, verdict, attempts };
}

/** No target is left: the upstream's own answer where it explains, else one typed error. */
function lastWord(last: Tried, attempts: AttemptTrace[], retryAfterMs: number | undefined, cause: unknown): CallResult {
  const { trip, verdict, reaction } = last;
  if (reaction.lastly === "answer" && trip.kind === "answer") return toResult(trip, verdict, attempts);
  const facts = { class: verdict.class, reason: verdict.reason, attempts };
  const tries = `${attempts.length} ${attempts.length === 1 ? "try" : "tries"}`;
  if (reaction.outcome === "refused" || reaction.free) {
    const back = retryAfterMs === undefined ? "" : ` The first target is back in ${seconds(retryAfterMs)}.`;
    const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
    throw new SluiceError("pool_exhausted", `No target took the call in ${tries} (${verdict.class}).${back}`, {
      ...wait,
      facts,
      cause,
    });
  }
  const status = verdict.reason === "timeout" ? { status: 504 } : {};
  throw new SluiceError("upstream_failed", `The upstream failed in ${tries} (${verdict.reason}).`, {
    ...status,
    retryAfterMs: retryAfterMs ?? 1_000,
    facts,
    cause,
  });
}

function tooLarge(max: number): SluiceError {
  const mebibytes = Math.floor(max / 2 ** 20);
  return new SluiceError(
    "upstream_failed",
    `The answer is larger than ${mebibytes} MiB; ask for less or raise maxResponseBytes.`,
  );
}
