/** What the adapter uses of Deno KV, as shapes of its own; a test proves that `Deno.Kv` fits. */
export type DenoKvKey = readonly (string | number | bigint | boolean | Uint8Array)[];

export interface DenoKvEntry {
  readonly key: readonly unknown[];
  readonly value: unknown;
  readonly versionstamp: string;
}

export type DenoKvSelector = { readonly prefix: DenoKvKey } | { readonly start: DenoKvKey; readonly end: DenoKvKey };

/** A database of Deno KV, as `Deno.openKv()` gives it. */
export interface DenoKv {
  list(selector: DenoKvSelector, options?: { batchSize?: number }): AsyncIterable<DenoKvEntry>;
  atomic(): DenoKvAtomic;
  close(): void;
}

export interface DenoKvAtomic {
  check(...checks: { readonly key: DenoKvKey; readonly versionstamp: string | null }[]): DenoKvAtomic;
  set(key: DenoKvKey, value: unknown, options?: { expireIn?: number }): DenoKvAtomic;
  delete(key: DenoKvKey): DenoKvAtomic;
  commit(): Promise<{ readonly ok: true; readonly versionstamp: string } | { readonly ok: false }>;
}
