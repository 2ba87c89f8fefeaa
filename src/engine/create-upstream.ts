import { SluiceError } from "../errors.ts";
import { createRedactor } from "../lib/redact.ts";
import type { SluiceEvent } from "../ports/events.ts";
import type { Platform } from "../ports/platform.ts";
import type { VerdictClass } from "../ports/verdict.ts";
import { runCall } from "./attempt.ts";
import type { CallOptions, CallResult } from "./call.ts";
import type { UpstreamDefinition } from "./definition.ts";
import { Pool } from "./pool.ts";
import { type CallCounts, statsOf } from "./pool-stats.ts";
import type { Upstream } from "./upstream.ts";

/** An upstream that runs, and its end. */
export interface RunningUpstream<Call, Face extends object> extends Upstream<Call, Face> {
  close(): Promise<void>;
}

/** Puts an upstream's definition to work on a platform. `emit` gets every event of it. */
export function createUpstream<Call, Face extends object>(
  name: string,
  definition: UpstreamDefinition<Call, Face>,
  platform: Platform,
  emit: (event: SluiceEvent) => void,
): RunningUpstream<Call, Face> {
  const { ledger, clock, isolates = 1 } = platform;
  const counts: CallCounts = { ok: 0, failed: 0, attempts: 0, refused: 0, inFlight: 0 };
  const redact = createRedactor(definition.secrets);
  const tell = (event: SluiceEvent) => {
    const clean = "detail" in event ? { ...event, detail: redact(event.detail) } : event;
    emit(clean);
    definition.onEvent?.(clean);
  };
  const pool = new Pool({ name, definition: definition as UpstreamDefinition, ledger, clock, isolates, emit: tell });
  const road = {
    pool,
    counts,
    definition: definition as UpstreamDefinition,
    transport: definition.transport ?? platform.transport,
    clock,
  };
  for (const detail of definition.warnings) tell({ type: "config_warning", at: clock.now(), upstream: name, detail });

  async function send(call: Call, options: CallOptions = {}): Promise<CallResult> {
    if (definition.missing !== null) throw notConfigured(name, definition.missing, platform);
    counts.inFlight++;
    try {
      const result = await runCall(call, options, road);
      counts.ok++;
      return result;
    } catch (error) {
      if (error instanceof SluiceError && error.code !== "client_gone") {
        counts.failed++;
        const { attempts, class: last } = error.facts as { attempts?: readonly unknown[]; class?: VerdictClass };
        const facts = { code: error.code, attempts: attempts?.length ?? 0, class: last ?? null };
        tell({ type: "call_failed", at: clock.now(), upstream: name, ...facts });
      }
      throw error;
    } finally {
      counts.inFlight--;
    }
  }

  return {
    name,
    definition,
    protocol: definition.protocol,
    send,
    stats: () => statsOf(name, definition as UpstreamDefinition, pool, counts),
    capacity() {
      pool.wake();
      return definition.missing === null ? pool.board.capacity(pool.exchanger.now()) : 0;
    },
    async order(id, action) {
      const target = pool.board.get(id);
      if (target !== undefined) return pool.order(target, action);
      throw new SluiceError("route_unknown", `${name} has no target ${id}; /-/stats lists them.`);
    },
    close: () => pool.close(),
  };
}

function notConfigured(name: string, missing: string, platform: Platform): SluiceError {
  const how = platform.howToSet?.(missing);
  const todo = how === undefined ? "and restart" : `with \`${how}\``;
  return new SluiceError("upstream_not_configured", `${name} is not configured; set ${missing} ${todo}.`);
}
