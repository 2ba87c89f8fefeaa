import type { Gate } from "../ports/state.ts";

/** How long a probe may stay without a result before another client may take its place. */
export const PROBE_TTL_MS = 10_000;

/** When the gate lets the next call leave, epoch ms; 0 when it stands open. */
export function opensAt(gate: Gate): number {
  return gate.kind === "cooling" || gate.kind === "probing" ? gate.until : 0;
}

/** Closes the gate until `until`. Cooldowns merge: the later end wins, so a second, milder refusal never shortens one. */
export function cool(gate: Gate, until: number, reason: string, ramp: boolean): Gate {
  if (gate.kind !== "cooling") return { kind: "cooling", until, reason, ramp };
  if (until <= gate.until) return ramp && !gate.ramp ? { ...gate, ramp } : gate;
  return { kind: "cooling", until, reason, ramp: ramp || gate.ramp };
}

/** A call was granted the instant `at`: after a long cooldown it is the one probe of the fleet. */
export function pass(gate: Gate, at: number, client: string): Gate {
  if (gate.kind === "cooling" && gate.ramp) {
    return { kind: "probing", owner: client, until: at + PROBE_TTL_MS, reason: gate.reason };
  }
  if (gate.kind === "probing") return { ...gate, owner: client, until: at + PROBE_TTL_MS };
  if (gate.kind === "ramping" && at >= gate.until) return { kind: "open" };
  return gate;
}

/** A call that left at `at` came back well: the probe's own success opens the gate half-way for `rampMs`. */
export function succeed(gate: Gate, at: number, now: number, rampMs: number): Gate {
  if (gate.kind === "probing" && at >= gate.until - PROBE_TTL_MS) return { kind: "ramping", until: now + rampMs };
  return gate;
}

/** The probe's slot was given back unused: whoever comes next may probe. */
export function abandon(gate: Gate, at: number, now: number): Gate {
  if (gate.kind === "probing" && at >= gate.until - PROBE_TTL_MS) {
    return { kind: "cooling", until: now, reason: gate.reason, ramp: true };
  }
  return gate;
}

/** Part of the full rate that may pass at the instant `at`. */
export function rateAt(gate: Gate, at: number): number {
  return gate.kind === "ramping" && at < gate.until ? 0.5 : 1;
}
