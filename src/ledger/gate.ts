import type { Gate } from "../ports/state.ts";

/** How long a probe may stay without a result before another client may take its place. */
export const PROBE_TTL_MS = 10_000;

/** When the gate lets the next call leave, epoch ms; 0 when it stands open. */
export function opensAt(gate: Gate): number {
  return gate.kind === "cooling" || gate.kind === "probing" ? gate.until : 0;
}

/** The instant at which the probe leaves; it may lie ahead, since slots are granted ahead. */
function probedAt(gate: Gate & { kind: "probing" }): number {
  return gate.until - PROBE_TTL_MS;
}

/**
 * Closes the gate until `until`. Cooldowns merge: the later end wins, so a second, milder refusal never shortens one,
 * and a way back by probe and ramp that it interrupts is gone again from its start.
 */
export function cool(gate: Gate, until: number, reason: string, ramp: boolean): Gate {
  switch (gate.kind) {
    case "open":
      return { kind: "cooling", until, reason, ramp };
    case "ramping":
      return { kind: "cooling", until, reason, ramp: true };
    case "probing":
      return until <= probedAt(gate) ? gate : { kind: "cooling", until, reason, ramp: true };
    case "cooling":
      if (until <= gate.until) return ramp && !gate.ramp ? { ...gate, ramp } : gate;
      return { kind: "cooling", until, reason, ramp: ramp || gate.ramp };
  }
}

/** Whether a call that left at `at` did so before the gate closed last: its answer is no news about the time since. */
export function closedAfter(gate: Gate, at: number): boolean {
  if (gate.kind === "cooling") return at < gate.until;
  return gate.kind === "probing" && at < probedAt(gate);
}

/**
 * A call was granted the instant `at`: after a long cooldown it is the one probe of the fleet. One that goes in spite
 * of the gate leaves it as it is.
 */
export function pass(gate: Gate, at: number, client: string): Gate {
  if (at < opensAt(gate)) return gate;
  if (gate.kind === "cooling" && gate.ramp) {
    return { kind: "probing", owner: client, until: at + PROBE_TTL_MS, reason: gate.reason };
  }
  if (gate.kind === "probing") return { ...gate, owner: client, until: at + PROBE_TTL_MS };
  if (gate.kind === "ramping" && at >= gate.until) return { kind: "open" };
  return gate;
}

/** A call that left at `at` came back well: the probe's own success opens the gate half-way for `rampMs`. */
export function succeed(gate: Gate, at: number, now: number, rampMs: number): Gate {
  if (gate.kind === "probing" && at >= probedAt(gate)) return { kind: "ramping", until: now + rampMs };
  return gate;
}

/** The probe's slot was given back unused: whoever comes next may probe. */
export function abandon(gate: Gate, at: number, now: number): Gate {
  if (gate.kind === "probing" && at >= probedAt(gate)) {
    return { kind: "cooling", until: Math.max(now, probedAt(gate)), reason: gate.reason, ramp: true };
  }
  return gate;
}

/** Part of the full rate that may pass at the instant `at`; the probe is the first call at half the rate. */
export function rateAt(gate: Gate, at: number): number {
  return gate.kind === "probing" || (gate.kind === "ramping" && at < gate.until) ? 0.5 : 1;
}
