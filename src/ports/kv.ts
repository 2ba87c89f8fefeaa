/**
 * The eventually consistent store, for snapshots and slow facts: structurally a part of unstorage's `Storage`. Values are
 * JSON. A write may take a minute to be seen elsewhere, and of two writes either may win: nothing that limits, cools or
 * counts belongs here. Keys are colon-separated words.
 */
export interface Kv {
  /** Null when there is none, or when its time is up. */
  getItem(key: string): Promise<unknown>;
  /** `ttl`: seconds after which it counts as absent. */
  setItem(key: string, value: unknown, options?: { readonly ttl?: number }): Promise<void>;
  removeItem(key: string): Promise<void>;
  /** All keys that begin with `base`. */
  getKeys(base?: string): Promise<string[]>;
}
