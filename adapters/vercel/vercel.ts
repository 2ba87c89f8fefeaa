import {
  deploy,
  type Deployed,
  type Env,
  type Events,
  parseIsolates,
  type SluiceConfig,
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

const clock = functionClock(functionBackground);

/**
 * The gateway as a Vercel function, on Node or Edge: `export default vercel(config)` in `api/sluice.ts`, with every path
 * rewritten to it. The database is Upstash Redis by its REST variables; `GET /-/cron` runs the jobs for whoever shows
 * `CRON_SECRET`. Never throws: what is misconfigured is said in the log and answered with a problem document.
 */
export function vercel<U extends Upstreams>(
  config: SluiceConfig<U> | SluiceFactory<U>,
  options: VercelOptions = {},
): VercelFunction {
  let handle: ((request: Request) => Promise<Response>) | undefined;
  const answer = (request: Request): Promise<Response> => {
    handle ??= start(config, options);
    return handle(request);
  };
  return Object.assign((request: Request) => answer(request), { fetch: (request: Request) => answer(request) });
}

function start<U extends Upstreams>(
  config: SluiceConfig<U> | SluiceFactory<U>,
  { isolates, env = environment(), events }: VercelOptions,
): (request: Request) => Promise<Response> {
  const deployed: Deployed = deploy(config, {
    env,
    platform: (tidy) => ({
      ...findStores(tidy, parseIsolates(isolates), clock),
      isolates: parseIsolates(isolates),
      clock,
      background: functionBackground,
      transport: (request, init) => fetch(request, init),
      howToSet: (setting) => `vercel env add ${setting} production`,
    }),
    events,
    random: () => clock.random(),
    print: (line) => console.log(line),
    logName: "the function's log",
  });
  const cron = createCron(env, () => deployed.scheduled());
  return async (request) => (await cron(request)) ?? deployed.fetch(request);
}

/** Absent in some edge runtimes. */
function environment(): Env {
  return (globalThis as { process?: { env?: Env } }).process?.env ?? {};
}
