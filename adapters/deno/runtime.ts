import type { DenoKv } from "./kv-types.ts";

/** What the adapter uses of the global `Deno`; a test proves that the real one fits. */
export interface DenoRuntime {
  readonly env: { get(name: string): string | undefined; toObject(): Record<string, string> };
  readonly permissions: { querySync(descriptor: Permission): { readonly state: string } };
  readonly stderr: { isTerminal(): boolean };
  /** Only with `--unstable-kv`. */
  openKv?(path?: string): Promise<DenoKv>;
  /** Only with `--unstable-cron`. */
  cron?(name: string, schedule: string, options: { signal: AbortSignal }, handler: () => Promise<void>): Promise<void>;
  mkdir(path: string, options: { recursive: boolean }): Promise<void>;
  addSignalListener(signal: "SIGINT" | "SIGTERM", handler: () => void): void;
  unrefTimer(id: number): void;
  exit(code: number): never;
}

export type Permission =
  | { readonly name: "env" }
  | { readonly name: "net"; readonly host: string }
  | { readonly name: "read" | "write"; readonly path: string };

/** Undefined elsewhere than on Deno. */
export function findRuntime(): DenoRuntime | undefined {
  return (globalThis as { Deno?: DenoRuntime }).Deno;
}
