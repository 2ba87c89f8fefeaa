import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import {
  configFromEnv,
  parseWholeNumber,
  type SluiceConfig,
  SluiceError,
  type SluiceFactory,
} from "../../src/index.ts";
import { serve } from "./serve.ts";

/** What `npm start` runs: the gateway on this machine, configured by the environment (or by the module in SLUICE_CONFIG). */
async function main(): Promise<void> {
  const { HOST, PORT, SLUICE_STATE, SLUICE_CONFIG } = process.env;
  const served = await serve(SLUICE_CONFIG ? await configFrom(SLUICE_CONFIG) : configFromEnv, {
    host: HOST || undefined,
    port: PORT ? parseWholeNumber("PORT", PORT, 0, 65_535) : undefined,
    state: SLUICE_STATE || undefined,
  });
  for (const line of served.sluice.describe()) console.error(line);
  console.log(`sluice listening on ${served.url}`);
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      served.stop().then(
        () => process.exit(0),
        (error: unknown) => fail(error),
      );
    });
  }
}

async function configFrom(path: string): Promise<SluiceConfig | SluiceFactory> {
  let module: { default?: SluiceConfig | SluiceFactory };
  try {
    module = (await import(pathToFileURL(resolve(path)).href)) as typeof module;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new SluiceError("config_invalid", `SLUICE_CONFIG: ${path} cannot be loaded (${why}).`, { cause });
  }
  if (module.default !== undefined) return module.default;
  throw new SluiceError(
    "config_invalid",
    `SLUICE_CONFIG: ${path} has no default export; write "export default defineSluice(…)".`,
  );
}

function fail(error: unknown): void {
  console.error(error instanceof SluiceError ? `sluice: ${error.message}` : error);
  process.exit(1);
}

main().catch(fail);
