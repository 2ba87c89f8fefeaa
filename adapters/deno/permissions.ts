import { type Env, type SluiceConfig, SluiceError } from "../../src/index.ts";
import type { DenoRuntime, Permission } from "./runtime.ts";

/** Whether nobody would have to be asked. */
export function isGranted(runtime: DenoRuntime, permission: Permission): boolean {
  return runtime.permissions.querySync(permission).state === "granted";
}

/** The process's environment. Throws `config_invalid` when it may not be read. */
export function environmentOf(runtime: DenoRuntime): Env {
  if (isGranted(runtime, { name: "env" })) return runtime.env.toObject();
  throw new SluiceError(
    "config_invalid",
    "the environment may not be read: start with --allow-env, or give what the gateway may know as deno(config, { env }).",
  );
}

/** Throws `config_invalid` when the configuration's upstreams may not be called. */
export function checkNetwork(runtime: DenoRuntime, { upstreams }: SluiceConfig): void {
  const hosts = Object.values(upstreams).flatMap(({ targets }) => targets.map(({ baseUrl }) => hostOf(baseUrl)));
  const missing = [...new Set(hosts)].filter((host) => !isGranted(runtime, { name: "net", host }));
  if (missing.length === 0) return;
  const flag = `--allow-net=${missing.join(",")}`;
  throw new SluiceError("config_invalid", `the upstream may not be called: start with ${flag} (or --allow-net).`);
}

/** With its port: a permission may be for that alone. */
function hostOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port === "" ? (protocol === "http:" ? 80 : 443) : port}`;
}
