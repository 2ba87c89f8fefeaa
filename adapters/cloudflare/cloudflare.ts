import {
  deploy,
  type Deployed,
  type Env,
  type Events,
  parseIsolates,
  type Platform,
  type SluiceConfig,
  type SluiceFactory,
  sliceLedger,
  type Upstreams,
} from "../../src/index.ts";
import { workersKv } from "../unstorage/workers-kv.ts";
import { workerBackground } from "./background.ts";
import { findBindings, flagWarnings } from "./bindings.ts";
import { workerClock } from "./clock.ts";
import { durableLedger } from "./durable-ledger.ts";

export interface CloudflareOptions {
  /** Without a Durable Object: of how many isolates each takes its slice (10). */
  readonly isolates?: number;
  readonly events?: Events;
}

/** What a Worker exports. */
export interface CloudflareWorker {
  fetch(request: Request, env: object): Promise<Response>;
  scheduled(event: unknown, env: object): Promise<void>;
}

/**
 * The gateway as a Worker: `export default cloudflare(config)`, beside `export { SluiceLedger } from "sluice/cloudflare"`.
 * Bindings: `SLUICE_LEDGER` (the Durable Object), `SLUICE_KV` (optional); settings are variables and secrets. The
 * compatibility flag `enable_request_signal` lets it see that a caller has left.
 * Never throws: what is missing or wrong is said in the log when an isolate starts, and answered with what to do.
 */
export function cloudflare<U extends Upstreams>(
  config: SluiceConfig<U> | SluiceFactory<U>,
  { isolates, events }: CloudflareOptions = {},
): CloudflareWorker {
  const clock = workerClock(workerBackground);
  let running: Deployed | undefined;
  const start = (env: object): Deployed =>
    deploy(config, {
      env: textsOf(env),
      platform: () => platformOf(env, parseIsolates(isolates), clock),
      events,
      random: () => clock.random(),
      print: (line) => console.log(line),
      logName: "the Worker's log",
    });
  return {
    async fetch(request, env) {
      running ??= start(env);
      const unwatch = clock.watch();
      try {
        return await running.fetch(request);
      } finally {
        unwatch();
      }
    },
    async scheduled(_event, env) {
      running ??= start(env);
      await running.scheduled();
    },
  };
}

function platformOf(env: object, isolates: number, clock: Platform["clock"]): Omit<Platform, "events" | "report"> {
  const { ledger, kv, warning } = findBindings(env);
  const warnings = [
    ...(warning === null ? [] : [`${warning} Until then each isolate spends 1/${2 * isolates} of every ceiling.`]),
    ...flagWarnings(),
  ];
  // As it is, beside the event: in JSON the lines to add have backslashes.
  for (const line of warnings) console.warn(`sluice: ${line}`);
  return {
    ledger:
      ledger === null
        ? sliceLedger(
            () => clock.now(),
            isolates,
            () => clock.random(),
          )
        : durableLedger(ledger, workerBackground),
    clock,
    transport: (request, init) => fetch(request, init),
    background: workerBackground,
    kv: kv === null ? undefined : workersKv(kv, () => clock.now()),
    warnings,
    isolates,
    howToSet: (setting) => `wrangler secret put ${setting}`,
  };
}

/** The variables and secrets among the bindings. */
function textsOf(env: object): Env {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => typeof value === "string")) as Env;
}
