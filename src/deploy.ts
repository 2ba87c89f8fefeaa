import type { Env, SluiceConfig, SluiceFactory, Upstreams } from "./config.ts";
import { secretsOfEnv, tidyEnv } from "./env-config.ts";
import { SluiceError } from "./errors.ts";
import { createEventLog } from "./event-log.ts";
import { refuseAll } from "./http/refuse-all.ts";
import type { JobReport } from "./jobs/job.ts";
import { createRedactor } from "./lib/redact.ts";
import type { Events } from "./ports/events.ts";
import type { Platform } from "./ports/platform.ts";
import { createSluice } from "./sluice.ts";

/** What an adapter brings to a deployment besides the configuration. */
export interface DeployOptions {
  readonly env: Env;
  /** The ports, once the configuration is known to be one. Throws `config_invalid` for settings of its own. */
  readonly platform: (env: Env) => Omit<Platform, "events" | "report">;
  readonly events?: Events | undefined;
  readonly random: () => number;
  /** Gets lines: events as JSON, the rest for people. */
  readonly print: (line: string) => void;
  /** What a deployment's log is called, for a message that points there ("the Worker's log"). */
  readonly logName: string;
}

/** A gateway, or what stands in for one that cannot be. */
export interface Deployed {
  fetch(request: Request): Promise<Response>;
  /** Rejects where there is no gateway. */
  scheduled(): Promise<readonly JobReport[]>;
  /** Refuses waiting calls, gives leases back. */
  close(): Promise<void>;
}

/**
 * Starts a gateway where nobody watches it start: what is misconfigured is said in the log and answered to every
 * request, never thrown. Events go to the log as JSON, free of secrets.
 */
export function deploy<U extends Upstreams>(
  config: SluiceConfig<U> | SluiceFactory<U>,
  options: DeployOptions,
): Deployed {
  const { platform, events, print, random, logName } = options;
  const env = tidyEnv(options.env);
  const redact = createRedactor(secretsOfEnv(env));
  try {
    const parsed = typeof config === "function" ? config(env) : config;
    const log = createEventLog(parsed, (line) => print(redact(line)));
    const sluice = createSluice(parsed, {
      ...platform(env),
      events: {
        emit(event) {
          log.events.emit(event);
          events?.emit(event);
        },
      },
      report: log.report,
    });
    for (const line of sluice.describe()) print(`sluice: ${line}`);
    return sluice;
  } catch (error) {
    const isOurs = error instanceof SluiceError;
    const known = isOurs
      ? error
      : new SluiceError("config_invalid", `The configuration throws an error; ${logName} has it.`);
    print(redact(`sluice: ${known.message} ${isOurs ? "" : String(error)}`.trimEnd()));
    return { fetch: refuseAll(known, random), scheduled: () => Promise.reject(known), close: () => Promise.resolve() };
  }
}

/** Of how many isolates each takes its slice where they cannot know of each other. */
export function parseIsolates(isolates = 10): number {
  if (Number.isInteger(isolates) && isolates > 0) return isolates;
  throw new SluiceError("config_invalid", "isolates: must be a whole number above 0.");
}
