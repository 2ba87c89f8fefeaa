import type { Kv } from "../../src/ports/kv.ts";
import { fromStorageKey, toStorageBase, toStorageKey } from "./storage-key.ts";

/** What is stored: drivers drop values late or never, so each carries its own end. */
export interface StoredItem {
  readonly v: unknown;
  /** Epoch milliseconds from which it counts as absent; null for never. */
  readonly until: number | null;
}

/** The part of unstorage's `Storage` that is used: any driver, mounts and `prefixStorage` included. */
export interface StorageLike {
  getItem(key: string): Promise<unknown>;
  setItem(key: string, value: StoredItem, options?: { ttl?: number }): Promise<void>;
  removeItem(key: string): Promise<void>;
  getKeys(base?: string): Promise<string[]>;
}

export interface UnstorageKvOptions {
  /** Epoch milliseconds; the clock of the machine unless given. All that share the storage must agree on it. */
  readonly now?: () => number;
}

/** Workers KV refuses less; all other drivers may keep a value as long without harm. */
const LEAST_DRIVER_TTL_S = 60;

/**
 * The `Kv` port on any driver of unstorage. A value ends at its own millisecond on every driver, but `getKeys` may list
 * it until the driver has dropped it (a minute or a little more after it was set; drivers without expiry of their own,
 * memory and files among them, keep it until it is overwritten or removed): to leave it out would cost a read of every
 * value. End a prefix with a colon: without it the driver has to list the whole level above.
 *
 * @example
 * ```ts
 * import { createStorage } from "unstorage";
 * import { unstorageKv } from "@sluice/sluice/unstorage";
 *
 * const kv = unstorageKv(createStorage());
 * await kv.setItem("gas:ethereum", { gwei: 12 }, { ttl: 30 });
 * ```
 */
export function unstorageKv(storage: StorageLike, { now = Date.now }: UnstorageKvOptions = {}): Kv {
  return {
    async getItem(key) {
      const stored = await storage.getItem(toStorageKey(key));
      if (!isStoredItem(stored) || (stored.until !== null && stored.until <= now())) return null;
      return stored.v;
    },
    async setItem(key, value, { ttl } = {}) {
      if (ttl === undefined || ttl === Infinity) {
        await storage.setItem(toStorageKey(key), { v: value, until: null });
        return;
      }
      if (Number.isNaN(ttl)) throw new RangeError("A ttl is a number of seconds, got NaN.");
      const item = { v: value, until: now() + ttl * 1000 };
      await storage.setItem(toStorageKey(key), item, { ttl: Math.max(LEAST_DRIVER_TTL_S, Math.ceil(ttl)) });
    },
    removeItem: (key) => storage.removeItem(toStorageKey(key)),
    async getKeys(base = "") {
      const stored = await storage.getKeys(toStorageBase(base));
      // Redis may name a key twice while it scans.
      const keys = new Set(stored.map(fromStorageKey));
      return [...keys].filter((key): key is string => key?.startsWith(base) === true);
    },
  };
}

/** Anything else was written by somebody else, or by a version that is not this one. */
function isStoredItem(stored: unknown): stored is StoredItem {
  if (typeof stored !== "object" || stored === null || !("v" in stored) || !("until" in stored)) return false;
  return stored.until === null || typeof stored.until === "number";
}
