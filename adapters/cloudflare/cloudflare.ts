import {
  createEventLog,
  createRedactor,
  createSluice,
  type Env,
  type Events,
  type Platform,
  refuseAll,
  secretsOfEnv,
  type SluiceConfig,
  SluiceError,
  type SluiceFactory,
  sliceLedger,
  type Upstreams,
} from "../../src/index.ts";
import { workersKv } from "../unstorage/workers-kv.ts";
import { workerBackground } from "./background.ts";
import { findBindings } from "./bindings.ts";
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

const ISOLATES = 10;
const FAILING = "The configuration throws an error; the Worker's log has it.";

interface Running {
  fetch(request: Request): Promise<Response>;
  scheduled(): Promise<unknown>;
}

/**
 * The gateway as a Worker: `export default cloudflare(config)`, beside `export { SluiceLedger } from "sluice/cloudflare"`.
 * Bindings: `SLUICE_LEDGER` (the Durable Object), `SLUICE_KV` (optional); settings are variables and secrets.
 * Never throws: what is missing or wrong is said in the log when an isolate starts, and answered with what to do.
 */
export function cloudflare<U extends Upstreams>(
  config: SluiceConfig<U> | SluiceFactory<U>,
  options: CloudflareOptions = {},
): CloudflareWorker {
  const clock = workerClock(workerBackground);
  let running: Running | undefined;

  const start = (env: object): Running => {
    try {
      const parsed = typeof config === "function" ? config(textsOf(env)) : config;
      const sluice = createSluice(parsed, platformOf(env, parsed, options, clock));
      for (const line of sluice.describe()) console.log(`sluice: ${line}`);
      return sluice;
    } catch (error) {
      const known = error instanceof SluiceError ? error : new SluiceError("config_invalid", FAILING);
      const redact = createRedactor(secretsOfEnv(textsOf(env)));
      console.error(redact(`sluice: ${known.message} ${error === known ? "" : String(error)}`.trimEnd()));
      return { fetch: refuseAll(known, () => clock.random()), scheduled: () => Promise.reject(known) };
    }
  };

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

function platformOf(
  env: object,
  config: SluiceConfig,
  { isolates = ISOLATES, events }: CloudflareOptions,
  clock: Platform["clock"],
): Platform {
  if (!(Number.isInteger(isolates) && isolates > 0)) {
    throw new SluiceError("config_invalid", "isolates: must be a whole number above 0.");
  }
  const { ledger, kv, warning } = findBindings(env);
  const warnings =
    warning === null ? [] : [`${warning} Until then each isolate spends 1/${2 * isolates} of every ceiling.`];
  // As it is, beside the event: in JSON the lines to add have backslashes.
  for (const line of warnings) console.warn(`sluice: ${line}`);
  const log = createEventLog(config, (line) => console.log(line));
  return {
    ledger: ledger === null ? sliceLedger(() => clock.now(), isolates) : durableLedger(ledger, workerBackground),
    clock,
    transport: (request) => fetch(request),
    background: workerBackground,
    kv: kv === null ? undefined : workersKv(kv, () => clock.now()),
    warnings,
    howToSet: (setting) => `wrangler secret put ${setting}`,
    events: {
      emit(event) {
        log.events.emit(event);
        events?.emit(event);
      },
    },
    report: log.report,
  };
}

/** The variables and secrets among the bindings. */
function textsOf(env: object): Env {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => typeof value === "string")) as Env;
}
