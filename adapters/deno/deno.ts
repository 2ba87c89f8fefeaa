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
import { denoClock } from "./clock.ts";
import { denoKv } from "./kv.ts";
import { denoKvLedger } from "./ledger.ts";
import { openKv } from "./open-kv.ts";
import { checkNetwork, environmentOf } from "./permissions.ts";
import { printerOf } from "./printer.ts";
import { enroll } from "./process.ts";
import { RequestsUnderWay } from "./requests-under-way.ts";
import { type DenoRuntime, findRuntime } from "./runtime.ts";

export interface DenoOptions {
  /** The environment; the process's unless given. */
  readonly env?: Env;
  readonly events?: Events;
}

/** What Deno tells of a request besides the request. */
export interface DenoServeInfo {
  readonly remoteAddr?: object;
  /** Settles when the answer has been sent. */
  readonly completed?: Promise<void>;
}

/** The default export of a module for `deno serve`. */
export interface DenoServer {
  fetch(request: Request, info?: DenoServeInfo): Promise<Response>;
}

const FAILING = "The configuration throws an error; the log has it.";
const ELSEWHERE = "sluice/deno runs on Deno 2; on Node it is sluice/node, elsewhere sluice with a platform of its own.";
const NO_CRON =
  'Deno.cron is not there, so the daily jobs do not run: start with --unstable-cron, or add "unstable": ["kv", "cron"] to deno.json.';
/** Machines that share a database over the network keep their clocks by time servers. */
const SKEW_MS = 10;

interface Running {
  fetch(request: Request): Promise<Response>;
  scheduled(): Promise<unknown>;
  /** `ended` resolves when the requests under way have ended. */
  close(ended: () => Promise<void>): Promise<void>;
}

/**
 * The gateway for `deno serve` and Deno Deploy: `export default deno(config)`. Its ledger is Deno KV: the database that
 * `SLUICE_STATE` names, or Deno's own; the jobs run by `Deno.cron`; SIGTERM lets requests under way end. Never throws:
 * what is missing or wrong is said in the log at the start, and answered with what to do.
 */
export function deno<U extends Upstreams>(
  config: SluiceConfig<U> | SluiceFactory<U>,
  options: DenoOptions = {},
): DenoServer {
  const peers = new WeakMap<Request, string>();
  const underWay = new RequestsUnderWay();
  const runtime = findRuntime();
  let running: Running | undefined;
  const started = start(config, options, runtime, (request) => peers.get(request)).then((it) => (running = it));
  if (runtime !== undefined) {
    enroll(runtime, {
      scheduled: async () => (await started).scheduled(),
      async stop() {
        await (await started).close(() => underWay.end());
      },
    });
  }
  return {
    fetch(request, { remoteAddr, completed } = {}) {
      if (remoteAddr !== undefined && "hostname" in remoteAddr) peers.set(request, String(remoteAddr.hostname));
      const answer = running === undefined ? started.then((it) => it.fetch(request)) : running.fetch(request);
      underWay.add(completed ?? answer);
      return answer;
    },
  };
}

async function start<U extends Upstreams>(
  config: SluiceConfig<U> | SluiceFactory<U>,
  options: DenoOptions,
  runtime: DenoRuntime | undefined,
  peer: (request: Request) => string | undefined,
): Promise<Running> {
  let env: Env = options.env ?? {};
  try {
    if (runtime === undefined) throw new SluiceError("config_invalid", ELSEWHERE);
    env = options.env ?? environmentOf(runtime);
    const parsed = typeof config === "function" ? config(env) : config;
    return await run(parsed, options, runtime, env, peer);
  } catch (error) {
    const known = error instanceof SluiceError ? error : new SluiceError("config_invalid", FAILING);
    const redact = createRedactor(secretsOfEnv(env));
    console.error(redact(`sluice: ${known.message} ${error === known ? "" : String(error)}`.trimEnd()));
    return {
      fetch: refuseAll(known, () => denoClock.random()),
      scheduled: () => Promise.resolve(),
      close: (ended) => ended(),
    };
  }
}

async function run<U extends Upstreams>(
  config: SluiceConfig<U>,
  { events }: DenoOptions,
  runtime: DenoRuntime,
  env: Env,
  peer: (request: Request) => string | undefined,
): Promise<Running> {
  checkNetwork(runtime, config);
  const path = env["SLUICE_STATE"]?.trim() || undefined;
  const kv = await openKv(runtime, path);
  const isShared = path === undefined ? isDeployed(env) : /^https?:/.test(path);
  const log = createEventLog(config, printerOf(runtime));
  try {
    const sluice = createSluice(config, {
      ledger: denoKvLedger(kv, { skewMs: isShared ? SKEW_MS : 0 }),
      kv: denoKv(kv),
      clock: denoClock,
      transport: (request) => fetch(request),
      warnings: runtime.cron === undefined ? [NO_CRON] : [],
      events: {
        emit(event) {
          log.events.emit(event);
          events?.emit(event);
        },
      },
      report: log.report,
      peer,
    });
    for (const line of sluice.describe()) console.error(`sluice: ${line}`);
    return {
      fetch: (request) => sluice.fetch(request),
      scheduled: () => sluice.scheduled(),
      async close(ended) {
        // Waiting calls are refused first: they hold requests that would otherwise be waited for.
        const closed = sluice.close();
        await ended();
        await closed;
        kv.close();
      },
    };
  } catch (error) {
    kv.close();
    throw error;
  }
}

/** Asked only where nobody has to be: Deno Deploy lets all variables be read. */
function isDeployed(env: Env): boolean {
  return Object.hasOwn(env, "DENO_DEPLOYMENT_ID");
}
