import {
  deploy,
  type Deployed,
  type Env,
  type Events,
  type SluiceConfig,
  SluiceError,
  type Platform,
  type SluiceFactory,
  type Upstreams,
} from "../../src/index.ts";
import { denoClock } from "./clock.ts";
import { denoKv } from "./kv.ts";
import type { DenoKv } from "./kv-types.ts";
import { denoKvLedger } from "./ledger.ts";
import { openKv } from "./open-kv.ts";
import { checkNetwork, environmentOf } from "./permissions.ts";
import { printerOf } from "./printer.ts";
import { enroll } from "./process.ts";
import { RequestsUnderWay } from "./requests-under-way.ts";
import { type DenoRuntime, findRuntime } from "./runtime.ts";

export interface DenoOptions {
  /** The environment; the process's unless given, which takes `--allow-env`. */
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

const ELSEWHERE = "sluice/deno runs on Deno 2 and nowhere else; Node's is sluice/node.";
const NO_REDIS =
  "REDIS_URL is set and not used here: sluice/deno keeps its ledger in Deno KV. Gateways elsewhere that use Redis do not share it.";
const NO_CRON =
  'Deno.cron is not there, so the daily jobs do not run: start with --unstable-cron, or add "unstable": ["kv", "cron"] to deno.json.';
/** Machines that share a database over the network keep their clocks by time servers. */
const SKEW_MS = 10;
/** So many isolates there may be on Deno Deploy, for the time before the ledger has told. */
const ISOLATES = 10;

interface Running extends Omit<Deployed, "close"> {
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
      stop: async () => (await started).close(() => underWay.end()),
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
  const found = await find(options, runtime).catch((fault: unknown) => ({ fault }));
  const deployed = deploy<U>(
    (env) => {
      if ("fault" in found) throw found.fault;
      const parsed = typeof config === "function" ? config(env) : config;
      checkNetwork(found.runtime, parsed);
      return parsed;
    },
    {
      env: "fault" in found ? {} : found.env,
      platform: () => {
        if ("fault" in found) throw found.fault;
        return platformOf(found, peer);
      },
      events: options.events,
      random: () => denoClock.random(),
      print: printerOf(runtime),
      logName: "the log",
    },
  );
  return {
    fetch: (request) => deployed.fetch(request),
    scheduled: () => deployed.scheduled(),
    async close(ended) {
      // Waiting calls are refused first: they hold requests that would otherwise be waited for.
      const closed = deployed.close();
      await ended();
      await closed;
      if ("kv" in found) found.kv.close();
    },
  };
}

interface Found {
  readonly runtime: DenoRuntime;
  readonly env: Env;
  readonly kv: DenoKv;
  /** Whether other machines may share the database. */
  readonly isShared: boolean;
}

async function find(options: DenoOptions, runtime: DenoRuntime | undefined): Promise<Found> {
  if (runtime === undefined) throw new SluiceError("config_invalid", ELSEWHERE);
  const env = options.env ?? environmentOf(runtime);
  const path = env["SLUICE_STATE"]?.trim() || undefined;
  const isShared = path === undefined ? env["DENO_DEPLOYMENT_ID"] !== undefined : /^https?:/.test(path);
  return { runtime, env, kv: await openKv(runtime, { path, isShared }), isShared };
}

function platformOf(
  { runtime, env, kv, isShared }: Found,
  peer: (request: Request) => string | undefined,
): Omit<Platform, "events" | "report"> {
  return {
    ledger: denoKvLedger(kv, { skewMs: isShared ? SKEW_MS : 0 }),
    kv: denoKv(kv),
    clock: denoClock,
    transport: (request, init) => fetch(request, init),
    warnings: [...(runtime.cron === undefined ? [NO_CRON] : []), ...(env["REDIS_URL"]?.trim() ? [NO_REDIS] : [])],
    isolates: isShared ? ISOLATES : 1,
    peer,
  };
}
