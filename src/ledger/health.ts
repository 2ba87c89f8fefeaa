import { fade } from "../lib/fade.ts";
import type { HealthState } from "../ports/state.ts";

/** Evidence loses half its weight in this time: the ranking of keys was seen to turn over within hours, not days. */
const HALF_LIFE_MS = 120_000;
/** … and never weighs more than this many calls, so that a busy target that falls ill is seen to within a few refusals. */
const TRIES_MAX = 20;
/** A target nobody knows counts as two calls with two failures in a hundred. */
const PRIOR_TRIES = 2;
const PRIOR_FAILS = 0.04;
/** Odds, before any good answer, that a target that was sick still is. */
const STILL_SICK_ODDS = 9;
/** Above this share of expected failures a target is overflow, not a peer. */
export const SICK_ABOVE = 0.05;
/** A sick target costs at most two failed probes a minute … */
const PROBE_AFTER_FAILURE_MS = 30_000;
/** … and is asked again soon after a good one, so that a recovery is believed within the minute. */
const PROBE_AFTER_SUCCESS_MS = 1_000;

export const UNKNOWN_HEALTH: HealthState = { tries: 0, fails: 0, at: 0, streak: 0, probeAt: 0 };

/** Enters one answer. */
export function observe(health: HealthState, good: boolean, now: number): HealthState {
  const kept = Math.min(fade(now - health.at, HALF_LIFE_MS), (TRIES_MAX - 1) / Math.max(1, health.tries));
  return {
    tries: health.tries * kept + 1,
    fails: health.fails * kept + (good ? 0 : 1),
    at: now,
    streak: good ? health.streak + 1 : 0,
    probeAt: now + (good ? PROBE_AFTER_SUCCESS_MS : PROBE_AFTER_FAILURE_MS),
  };
}

/**
 * The share of calls that is expected to fail, in [0, 1]: the faded failure rate, discounted by the chance that the
 * target has got well meanwhile. That chance follows from the good answers in a row: a target that has long failed
 * always is believed after three, one that failed at 13 % only after a score.
 */
export function sickness(health: HealthState, now: number): number {
  const kept = fade(now - health.at, HALF_LIFE_MS);
  const rate = (health.fails * kept + PRIOR_FAILS) / (health.tries * kept + PRIOR_TRIES);
  const odds = STILL_SICK_ODDS * (1 - rate) ** health.streak;
  return (rate * odds) / (1 + odds);
}

export function isSick(health: HealthState, now: number): boolean {
  return sickness(health, now) > SICK_ABOVE;
}
