import {
  createEventLog,
  createRedactor,
  createSluice,
  type Env,
  type Events,
  refuseAll,
  secretsOfEnv,
  type SluiceConfig,
  SluiceError,
  type SluiceFactory,
  type Upstreams,
} from "../../src/index.ts";
import { functionBackground } from "./background.ts";
import { functionClock } from "./clock.ts";
import { createCron } from "./cron.ts";
import { findStores } from "./settings.ts";

export interface VercelOptions {
  /** Without a database: of how many instances each takes its slice (10). */
  readonly isolates?: number;
  /** The environment; the process's unless given. */
  readonly env?: Env;
  readonly events?: Events;
}

/** A function for Vercel: called with a request (Edge), or by its `fetch` (Node). */
export interface VercelFunction {
  (request: Request): Promise<Response>;
  fetch(request: Request): Promise<Response>;
}

const ISOLATES = 10;
const clock = functionClock(functionBackground);
const FAILING = "The configuration throws an error; the function's log has it.";

/**
 * The gateway as a Vercel function, on Node or Edge: `export default vercel(config)` in `api/sluice.ts`, with every path
 * rewritten to it. The database is Upstash Redis by its REST variables; `GET /-/cron` runs the jobs for whoever shows
 * `CRON_SECRET`. Never throws: what is misconfigured is said in the log and answered with a problem document.
 */
export function vercel<U extends Upstreams>(
  config: SluiceConfig<U> | SluiceFactory<U>,
  options: VercelOptions = {},
): VercelFunction {
  const env = options.env ?? environment();
  let handle: ((request: Request) => Promise<Response>) | undefined;
  const answer = (request: Request): Promise<Response> => {
    handle ??= start(config, env, options);
    return handle(request);
  };
  return Object.assign((request: Request) => answer(request), { fetch: (request: Request) => answer(request) });
}

function start<U extends Upstreams>(
  config: SluiceConfig<U> | SluiceFactory<U>,
  env: Env,
  { isolates = ISOLATES, events }: VercelOptions,
): (request: Request) => Promise<Response> {
  try {
    const parsed = typeof config === "function" ? config(env) : config;
    const { ledger, kv, warnings, secrets } = findStores(env, isolates, () => clock.now());
    const redact = createRedactor(secrets);
    const log = createEventLog(parsed, (line) => console.log(redact(line)));
    const sluice = createSluice(parsed, {
      ledger,
      kv,
      warnings,
      clock,
      background: functionBackground,
      transport: (request) => fetch(request),
      howToSet: (setting) => `vercel env add ${setting} production`,
      events: {
        emit(event) {
          log.events.emit(event);
          events?.emit(event);
        },
      },
      report: log.report,
    });
    const cron = createCron(env, sluice.scheduled);
    return async (request) => (await cron(request)) ?? sluice.fetch(request);
  } catch (error) {
    const known = error instanceof SluiceError ? error : new SluiceError("config_invalid", FAILING);
    const redact = createRedactor(secretsOfEnv(env));
    console.error(redact(`sluice: ${known.message} ${error === known ? "" : String(error)}`.trimEnd()));
    return refuseAll(known, () => clock.random());
  }
}

/** Absent in some edge runtimes. */
function environment(): Env {
  return (globalThis as { process?: { env?: Env } }).process?.env ?? {};
}
