import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import {
  configFromEnv,
  createRedactor,
  parseWholeNumber,
  secretsOfEnv,
  type SluiceConfig,
  SluiceError,
  type SluiceFactory,
} from "../../src/index.ts";
import { useFastResponse } from "./fast-response.ts";
import { serve } from "./serve.ts";

/** What `npm start` runs: the gateway on this machine, configured by the environment (or by the module in SLUICE_CONFIG). */
async function main(): Promise<void> {
  useFastResponse();
  const { HOST, PORT, SLUICE_STATE, SLUICE_CONFIG } = process.env;
  const served = await serve(SLUICE_CONFIG ? await configFrom(SLUICE_CONFIG) : configFromEnv, {
    host: HOST || undefined,
    port: PORT ? parseWholeNumber("PORT", PORT, 0, 65_535) : undefined,
    state: SLUICE_STATE || undefined,
  });
  // Before anybody learns that it listens, and may want to stop it.
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    // Not `once`: an impatient second signal must not cut short what the first one began.
    process.on(signal, () => {
      served.stop().then(
        () => process.exit(0),
        (error: unknown) => fail(error),
      );
    });
  }
  for (const line of served.sluice.describe()) console.error(line);
  console.log(`sluice listening on ${served.url}`);
}

async function configFrom(path: string): Promise<SluiceConfig | SluiceFactory> {
  let module: { default?: SluiceConfig | SluiceFactory };
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as typeof module;
  } catch (cause) {
    throw unusable(path, "cannot be loaded", cause);
  }
  const config = module.default;
  if (config === undefined) {
    throw new SluiceError(
      "config_invalid",
      `SLUICE_CONFIG: ${path} has no default export; write "export default defineSluice(…)".`,
    );
  }
  if (typeof config !== "function") return config;
  return (env) => {
    try {
      return config(env);
    } catch (cause) {
      throw cause instanceof SluiceError ? cause : unusable(path, "fails", cause);
    }
  };
}

function unusable(path: string, fault: string, cause: unknown): SluiceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SluiceError("config_invalid", `SLUICE_CONFIG: ${path} ${fault} (${redact(why)}).`, { cause });
}

/** A configuration module's own errors may repeat what the environment holds. */
function redact(text: string): string {
  return createRedactor(secretsOfEnv(process.env))(text);
}

function fail(error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  console.error(error instanceof SluiceError ? `sluice: ${error.message}` : redact(text));
  process.exit(1);
}

main().catch(fail);
