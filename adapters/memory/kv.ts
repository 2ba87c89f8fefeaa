import type { Kv } from "../../src/ports/kv.ts";

interface Entry {
  /** JSON, so that nobody changes what is stored by holding on to it. */
  readonly text: string;
  /** Epoch milliseconds; Infinity for never. */
  readonly until: number;
}

/** So few are not worth a sweep. */
const SWEEP_FROM = 256;

/** The `Kv` port in the memory of one process: seen at once, and gone with it. `now`: epoch milliseconds. */
export function memoryKv(now: () => number): Kv {
  const entries = new Map<string, Entry>();
  let sweepAt = SWEEP_FROM;

  const isLive = ({ until }: Entry): boolean => now() < until;
  const sweep = (): void => {
    for (const [key, entry] of entries) if (!isLive(entry)) entries.delete(key);
    sweepAt = Math.max(SWEEP_FROM, 2 * entries.size);
  };

  return {
    async getItem(key) {
      const entry = entries.get(key);
      return entry !== undefined && isLive(entry) ? (JSON.parse(entry.text) as unknown) : null;
    },
    async setItem(key, value, { ttl = Infinity } = {}) {
      if (Number.isNaN(ttl)) throw new RangeError("A ttl is a number of seconds, got NaN.");
      const text = JSON.stringify(value) as string | undefined;
      if (text === undefined) {
        entries.delete(key);
        return;
      }
      entries.set(key, { text, until: now() + ttl * 1000 });
      if (entries.size >= sweepAt) sweep();
    },
    async removeItem(key) {
      entries.delete(key);
    },
    async getKeys(base = "") {
      return [...entries].filter(([key, entry]) => key.startsWith(base) && isLive(entry)).map(([key]) => key);
    },
  };
}
