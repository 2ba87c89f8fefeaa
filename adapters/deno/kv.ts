import type { Kv } from "../../src/index.ts";
import type { DenoKv as Database, DenoKvEntry, DenoKvKey } from "./kv-types.ts";

/** A value of Deno KV may have 64 KiB … */
const PIECE_MAX = 60_000;
/** … and an atomic operation 800 KiB. */
const PIECES_MAX = 13;
/** Deno KV drops what has expired about once a minute; further ahead nobody asks it to. */
const DROP_WITHIN_MS = 10 * 365 * 86_400_000;

export interface DenoKvOptions {
  /** What all keys begin with (`sluice`). */
  readonly prefix?: string;
  /** Epoch milliseconds; the clock of the machine unless given. All that share the database must agree on it. */
  readonly now?: () => number;
}

/** The first piece of a value; the others are bytes alone. */
interface StoredValue {
  readonly bytes: Uint8Array;
  readonly pieces: number;
  /** Epoch milliseconds from which it counts as absent; null for never. */
  readonly until: number | null;
}

/**
 * The `Kv` port on Deno KV: values up to 780 KB (unstorage's driver takes 64 KiB), each with its own end, since Deno KV drops
 * what has expired up to a minute late. Seen everywhere at once, but nothing that counts belongs here all the same.
 *
 * @example
 * ```ts
 * import { denoKv } from "@sluice/sluice/deno";
 *
 * // With --unstable-kv
 * const database = await Deno.openKv(":memory:");
 * const kv = denoKv(database);
 * await kv.setItem("gas:ethereum", { gwei: 12 }, { ttl: 30 });
 * console.assert((await kv.getKeys("gas:")).length === 1);
 * database.close();
 * ```
 */
export function denoKv(database: Database, { prefix = "sluice", now = Date.now }: DenoKvOptions = {}): Kv {
  const values: DenoKvKey = [prefix, "kv"];
  const isLive = ({ until }: StoredValue): boolean => until === null || now() < until;

  const removeItem = async (key: string): Promise<void> => {
    const atomic = database.atomic().delete([...values, key]);
    for (let i = 1; i < PIECES_MAX; i++) atomic.delete([prefix, "kv-more", key, i]);
    await atomic.commit();
  };

  return {
    async getItem(key) {
      // What is written meanwhile would tear it: the pieces of one write have one versionstamp.
      for (;;) {
        const [first, ...none] = await listAll(database, [...values, key], [...values, `${key}\0`]);
        if (first === undefined || none.length > 0 || !isStored(first.value) || !isLive(first.value)) return null;
        const { bytes, pieces } = first.value;
        if (pieces === 1) return parse([bytes]);
        const more = await listAll(database, [prefix, "kv-more", key, 1], [prefix, "kv-more", key, pieces]);
        const isWhole = more.length === pieces - 1 && more.every((piece) => piece.versionstamp === first.versionstamp);
        if (isWhole) return parse([bytes, ...more.map((piece) => piece.value as Uint8Array)]);
      }
    },
    async setItem(key, value, { ttl = Infinity } = {}) {
      if (Number.isNaN(ttl)) throw new RangeError("A ttl is a number of seconds, got NaN.");
      const text = JSON.stringify(value) as string | undefined;
      if (text === undefined || ttl <= 0) return removeItem(key);
      const bytes = new TextEncoder().encode(text);
      const pieces = Math.max(1, Math.ceil(bytes.length / PIECE_MAX));
      if (pieces > PIECES_MAX) throw new RangeError(`A value in Deno KV has ${PIECES_MAX * PIECE_MAX} bytes at most.`);
      const until = ttl === Infinity ? null : now() + ttl * 1_000;
      const drop = ttl * 1_000 < DROP_WITHIN_MS ? { expireIn: Math.ceil(ttl * 1_000) } : {};
      const first: StoredValue = { bytes: bytes.slice(0, PIECE_MAX), pieces, until };
      const atomic = database.atomic().set([...values, key], first, drop);
      for (let i = 1; i < PIECES_MAX; i++) {
        const at = [prefix, "kv-more", key, i];
        if (i < pieces) atomic.set(at, bytes.slice(i * PIECE_MAX, (i + 1) * PIECE_MAX), drop);
        else atomic.delete(at);
      }
      await atomic.commit();
    },
    removeItem,
    async getKeys(base = "") {
      const keys: string[] = [];
      for await (const entry of database.list({ start: [...values, base], end: [prefix, "kv-more"] })) {
        const key = entry.key.at(-1);
        // In order: behind the first that begins otherwise there is none.
        if (typeof key !== "string" || !key.startsWith(base)) break;
        if (isStored(entry.value) && isLive(entry.value)) keys.push(key);
      }
      return keys;
    },
  };
}

async function listAll(database: Database, start: DenoKvKey, end: DenoKvKey): Promise<DenoKvEntry[]> {
  const entries: DenoKvEntry[] = [];
  for await (const entry of database.list({ start, end })) entries.push(entry);
  return entries;
}

function parse(parts: readonly Uint8Array[]): unknown {
  const decoder = new TextDecoder();
  return JSON.parse(parts.map((part) => decoder.decode(part, { stream: true })).join("") + decoder.decode()) as unknown;
}

/** Anything else was written by somebody else. */
function isStored(value: unknown): value is StoredValue {
  return typeof value === "object" && value !== null && "bytes" in value && value.bytes instanceof Uint8Array;
}
