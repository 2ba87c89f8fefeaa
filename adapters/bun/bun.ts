import {
  createRedactor,
  deploy,
  type Env,
  type Events,
  parseWholeNumber,
  secretsOfEnv,
  type SluiceConfig,
  SluiceError,
  type SluiceFactory,
  tidyEnv,
  type Upstreams,
} from "../../src/index.ts";
import { checkVersion } from "./check-version.ts";
import { bunClock } from "./clock.ts";
import { type OpenedLedger, openLedger } from "./open-ledger.ts";
import { printerOf } from "./printer.ts";
import { createEnroll } from "./process.ts";
import { RequestsUnderWay } from "./requests-under-way.ts";
import { type BunRuntime, findRuntime } from "./runtime.ts";

export interface BunOptions {
  /** Default HOST, or 127.0.0.1. */
  readonly hostname?: string;
  /** Default PORT, or 8787; 0 takes a free one. */
  readonly port?: number;
  /** The environment; the process's unless given. */
  readonly env?: Env;
  readonly events?: Events;
}

/** What is used of the server that Bun hands to `fetch`. */
export interface BunServer {
  requestIP(request: Request): { readonly address: string } | null;
  /** Requests that have not been answered in full. */
  readonly pendingRequests: number;
  /** Stops accepting. */
  stop(): unknown;
}

/** The default export of a module for `bun run`. */
export interface BunServe {
  readonly hostname: string;
  readonly port: number;
  /** Seconds. */
  readonly idleTimeout: number;
  readonly development: false;
  readonly reusePort: false;
  fetch(request: Request, server?: BunServer): Promise<Response>;
}

const ELSEWHERE = "sluice/bun runs on Bun and nowhere else; Node's is sluice/node.";
const NO_CRON = 'Bun.cron is not there, so the daily jobs do not run; "bun upgrade" brings it.';
const DEFAULT_PORT = 8_787;
/** Bun's longest; its own ten seconds would cut off calls that wait for an upstream. */
const IDLE_SECONDS = 255;
/** So many processes there may be on one Redis, for the time before the ledger has told. */
const ISOLATES = 10;

const enroll = createEnroll();

/**
 * The gateway as what Bun serves: `export default bun(config)` in a module for `bun run`. Its ledger is the file that
 * `SLUICE_STATE` names, or the Redis of `REDIS_URL`; the jobs run by `Bun.cron`; SIGTERM lets requests under way end. Never
 * throws: what is missing or wrong is said in the log at the start, and answered with what to do.
 */
export function bun<U extends Upstreams>(
  config: SluiceConfig<U> | SluiceFactory<U>,
  options: BunOptions = {},
): BunServe {
  return serveOn(findRuntime(), config, options, enroll);
}

/** The same on any runtime that looks like Bun. */
export function serveOn<U extends Upstreams>(
  runtime: BunRuntime | undefined,
  config: SluiceConfig<U> | SluiceFactory<U>,
  options: BunOptions,
  enter: ReturnType<typeof createEnroll>,
): BunServe {
  const env = tidyEnv(options.env ?? runtime?.process.env ?? {});
  const redact = createRedactor([...secretsOfEnv(env), ...(env["REDIS_URL"] === undefined ? [] : [env["REDIS_URL"]])]);
  const printRaw = printerOf(runtime);
  const print = (line: string): void => printRaw(redact(line));
  const servers = new WeakMap<Request, BunServer>();
  const underWay = new RequestsUnderWay();
  let server: BunServer | undefined;
  let opened: OpenedLedger | undefined;
  const deployed = deploy<U>(
    (all) => {
      if (runtime === undefined) throw new SluiceError("config_invalid", ELSEWHERE);
      checkVersion(runtime.bun.version);
      portOf(env);
      return typeof config === "function" ? config(all) : config;
    },
    {
      env,
      platform() {
        if (runtime === undefined) throw new SluiceError("config_invalid", ELSEWHERE);
        opened = openLedger(runtime, env, print);
        return {
          ledger: opened.ledger,
          clock: bunClock,
          transport: (request, init) => fetch(request, init),
          warnings: runtime.bun.cron === undefined ? [NO_CRON] : [],
          isolates: opened.isShared ? ISOLATES : 1,
          peer: (request) => servers.get(request)?.requestIP(request)?.address,
        };
      },
      events: options.events,
      random: () => bunClock.random(),
      print,
      logName: "the log",
    },
  );
  if (runtime !== undefined) {
    enter(runtime, {
      scheduled: () => deployed.scheduled(),
      print,
      async stop() {
        server?.stop();
        // Waiting calls are refused first: they hold requests that would otherwise be waited for.
        const closed = deployed.close();
        await underWay.end(() => server?.pendingRequests ?? 0);
        await closed;
        await opened?.ledger.close?.();
      },
    });
  }
  return {
    hostname: options.hostname ?? env["HOST"] ?? "127.0.0.1",
    port: options.port ?? portOrDefault(env),
    idleTimeout: IDLE_SECONDS,
    development: false,
    // Outside development Bun would share a port that another program has.
    reusePort: false,
    fetch(request, of) {
      if (of !== undefined) servers.set(request, (server = of));
      const answer = deployed.fetch(request);
      underWay.add(answer);
      return answer;
    },
  };
}

/** Throws `config_invalid` for a port that is none. */
function portOf({ PORT: port }: Env): number {
  return port === undefined ? DEFAULT_PORT : parseWholeNumber("PORT", port, 0, 65_535);
}

/** Where a fault in the port is answered too. */
function portOrDefault(env: Env): number {
  try {
    return portOf(env);
  } catch {
    return DEFAULT_PORT;
  }
}
