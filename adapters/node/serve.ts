import type { Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serve as serveWithSrvx } from "srvx";
import {
  createRedactor,
  createSluice,
  type Env,
  type Events,
  type Sluice,
  secretsOf,
  type SluiceConfig,
  SluiceError,
  type SluiceEvent,
  type SluiceFactory,
  tidyEnv,
  type Upstreams,
} from "../../src/index.ts";
import { sqliteLedger } from "../sqlite/index.ts";
import { drainOnStop } from "./drain.ts";
import { nodePlatform } from "./platform.ts";
import { refuseUnparsed } from "./refuse-unparsed.ts";

/** Room for a URL of 64 KiB, which the gateway itself refuses in words, and the headers beside it. */
const MAX_HEADER_BYTES = 96 * 1024;
/** Requests under way get this long to end when the server stops. */
const STOP_AFTER_MS = 10_000;

export interface ServeOptions {
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default 8787; 0 takes a free one. */
  readonly port?: number | undefined;
  /** The state file; default `.sluice/state.db`. */
  readonly state?: string | undefined;
  /** The environment for a configuration that is a function; default the process's. */
  readonly env?: Env | undefined;
  /** Gets one line per event or fault, free of secrets; default standard error. */
  readonly log?: ((line: string) => void) | undefined;
  readonly events?: Events | undefined;
}

export interface Served<U extends Upstreams> {
  readonly sluice: Sluice<U>;
  /** `http://127.0.0.1:8787` */
  readonly url: string;
  /** Stops accepting, lets requests under way end, gives leases back, closes the state. */
  stop(): Promise<void>;
}

/** Runs the gateway on Node with its state in one SQLite file. Throws `config_invalid`. */
export async function serve<U extends Upstreams>(
  config: SluiceConfig<U> | SluiceFactory<U>,
  options: ServeOptions = {},
): Promise<Served<U>> {
  const { host = "127.0.0.1", port = 8787, state = ".sluice/state.db", env = process.env } = options;
  const log = options.log ?? ((line: string) => void process.stderr.write(`${line}\n`));
  const parsed = typeof config === "function" ? config(tidyEnv(env)) : config;
  // The configuration's secrets are known once it has been checked; its own warnings come without any.
  let redact = createRedactor([]);
  const ledger = sqliteLedger({ path: state });
  const platform = nodePlatform({
    ledger,
    events: {
      emit(event) {
        log(redact(lineOf(event)));
        options.events?.emit(event);
      },
    },
    report: (thrown, requestId) => log(redact(`fault in request ${requestId}: ${textOf(thrown)}`)),
  });
  let sluice: Sluice<U>;
  try {
    sluice = createSluice(parsed, platform);
    redact = createRedactor(secretsOf(parsed));
  } catch (error) {
    await ledger.close?.();
    throw error;
  }
  const server = serveWithSrvx({
    fetch: sluice.fetch,
    hostname: host,
    port,
    manual: true,
    silent: true,
    gracefulShutdown: false,
    node: { maxHeaderSize: MAX_HEADER_BYTES },
  });
  const http = server.node?.server as HttpServer;
  http.on("clientError", refuseUnparsed);
  const drain = drainOnStop(http);
  try {
    await listening(http, () => server.serve());
  } catch (cause) {
    await sluice.close();
    await ledger.close?.();
    throw cannotListen(cause, host, port);
  }
  let stopping: Promise<void> | undefined;
  return {
    sluice,
    url: urlOf(http.address() as AddressInfo),
    stop: () => (stopping ??= stop(drain, sluice, ledger)),
  };
}

async function listening(http: HttpServer, start: () => unknown): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.once("listening", () => {
      http.off("error", reject);
      resolve();
    });
    Promise.resolve(start()).catch(reject);
  });
}

async function stop(
  drain: (withinMs: number) => Promise<void>,
  sluice: Sluice,
  ledger: { close?(): void | Promise<void> },
): Promise<void> {
  const drained = drain(STOP_AFTER_MS);
  // Waiting calls are refused first: they hold connections that would otherwise be waited for.
  await sluice.close();
  await drained;
  await ledger.close?.();
}

function cannotListen(cause: unknown, host: string, port: number): unknown {
  const code = (cause as NodeJS.ErrnoException).code;
  if (code === "EADDRINUSE") {
    return new SluiceError(
      "config_invalid",
      `PORT: ${host}:${port} is in use; set PORT to another one (0 takes a free one).`,
      { cause },
    );
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return new SluiceError("config_invalid", `HOST: this machine has no address "${host}"; try 127.0.0.1.`, { cause });
  }
  if (code === "EACCES") {
    return new SluiceError("config_invalid", `PORT: ${port} is not allowed for this user; use one above 1023.`, {
      cause,
    });
  }
  return cause;
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

function lineOf({ at, upstream, type, ...facts }: SluiceEvent): string {
  const rest = Object.entries(facts).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return `${new Date(at).toISOString()} ${upstream} ${type} ${rest.join(" ")}`.trimEnd();
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}
