import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Kv } from "../../src/ports/kv.ts";

/** A store under test, on its real engine, empty at first. */
export interface KvStore {
  readonly kv: Kv;
  /** Moves the clock that decides what has expired. */
  advance(ms: number): void;
  close(): Promise<void>;
}

export interface KvContractOptions {
  /** `getKeys` may name what has expired, where leaving it out would cost a read of every value. */
  readonly listsExpired?: true;
  /** Two writes of one key at once may leave a torn value, which counts as absent: plain files are not written in one piece. */
  readonly tears?: true;
}

/** What every store of snapshots and slow facts must hold, whatever it is made of. */
export function kvContract(
  name: string,
  open: () => Promise<KvStore>,
  { listsExpired, tears }: KvContractOptions = {},
): void {
  describe(`the kv contract: ${name}`, () => {
    let store: KvStore;
    let kv: Kv;
    beforeEach(async () => {
      store = await open();
      kv = store.kv;
    });
    afterEach(() => store.close());

    const keysOf = async (base?: string): Promise<string[]> => (await kv.getKeys(base)).sort();

    it.each<[what: string, value: unknown]>([
      ["a text", "text"],
      ["an empty text", ""],
      ["a text beyond ASCII", "grüße 🌊 \u2028 \u0000 \ud83d end"],
      ["a text that looks like JSON", '{"a":1}'],
      ["a text that looks like a number", "0x10"],
      ["a text of digits", "12345678901234567890"],
      ["the text true", "true"],
      ["the text null", "null"],
      ["a number", -0.1],
      ["zero", 0],
      ["the largest whole number", Number.MAX_SAFE_INTEGER],
      ["a small fraction", 5e-324],
      ["true", true],
      ["false", false],
      ["null", null],
      ["a list", [1, [2, [3, []]], {}]],
      ["an object", { a: { b: { c: [null, { d: "e" }] } }, "": 1, ключ: "знач" }],
      ["what looks like the adapter's own", { v: { v: 1, until: 0 }, until: 0 }],
      ["100 KB", { text: "ü".repeat(50_000), rows: Array.from({ length: 1_000 }, (_, i) => i) }],
    ])("gives back %s as it was set", async (_what, value) => {
      await kv.setItem("key", value);
      expect(await kv.getItem("key")).toEqual(value);
      await kv.setItem("key", value, { ttl: 60 });
      expect(await kv.getItem("key")).toEqual(value);
    });

    it("gives back whatever is JSON", async () => {
      // "__proto__" is a name that some parsers drop on purpose.
      const json = fc.jsonValue({ maxDepth: 3 }).filter((value) => !JSON.stringify(value).includes("__proto__"));
      const check = async (value: unknown): Promise<void> => {
        await kv.setItem("any", value);
        expect(await kv.getItem("any")).toEqual(JSON.parse(JSON.stringify(value)));
      };
      await fc.assert(fc.asyncProperty(json, check), { numRuns: 60 });
    });

    it("keeps its own copy of a value", async () => {
      const value = { list: [1] };
      await kv.setItem("mine", value);
      value.list.push(2);
      expect(await kv.getItem("mine")).toEqual({ list: [1] });
      ((await kv.getItem("mine")) as typeof value).list.push(3);
      expect(await kv.getItem("mine")).toEqual({ list: [1] });
    });

    it("null is the absent", async () => {
      expect(await kv.getItem("nothing")).toBeNull();
      expect(await kv.getItem("nothing:below")).toBeNull();
      expect(await keysOf()).toEqual([]);
      await kv.removeItem("nothing");
    });

    it("overwrites, of another kind too, and removes", async () => {
      await kv.setItem("key", { a: 1, b: 2 });
      await kv.setItem("key", { a: 2 });
      expect(await kv.getItem("key")).toEqual({ a: 2 });
      await kv.setItem("key", "text");
      expect(await kv.getItem("key")).toBe("text");
      await kv.removeItem("key");
      expect(await kv.getItem("key")).toBeNull();
      expect(await keysOf()).toEqual([]);
      await kv.removeItem("key");
    });

    it("ends a value at its millisecond, on its own clock", async () => {
      await kv.setItem("short", "s", { ttl: 1.5 });
      await kv.setItem("long", "l", { ttl: 3_600 });
      await kv.setItem("endless", "e");
      store.advance(1_499);
      expect(await kv.getItem("short")).toBe("s");
      store.advance(1);
      expect(await kv.getItem("short")).toBeNull();
      store.advance(3_600_000 - 1_501);
      expect(await kv.getItem("long")).toBe("l");
      store.advance(1);
      expect(await kv.getItem("long")).toBeNull();
      store.advance(10 * 365 * 86_400_000);
      expect(await kv.getItem("endless")).toBe("e");
    });

    it("takes the end of what was set last", async () => {
      await kv.setItem("key", 1, { ttl: 10 });
      await kv.setItem("key", 2, { ttl: 100 });
      store.advance(10_000);
      expect(await kv.getItem("key")).toBe(2);
      await kv.setItem("key", 3);
      store.advance(1_000_000);
      expect(await kv.getItem("key")).toBe(3);
      await kv.setItem("key", 4, { ttl: 1 });
      store.advance(1_000);
      expect(await kv.getItem("key")).toBeNull();
      await kv.setItem("key", 5);
      expect(await kv.getItem("key")).toBe(5);
    });

    it("no time to live is none at all; what is no number is refused", async () => {
      for (const ttl of [0, -1]) {
        await kv.setItem("dead", 1, { ttl });
        expect(await kv.getItem("dead")).toBeNull();
      }
      await expect(kv.setItem("dead", 1, { ttl: Number.NaN })).rejects.toThrow("got NaN");
      await kv.setItem("alive", 1, { ttl: Infinity });
      store.advance(1e12);
      expect(await kv.getItem("alive")).toBe(1);
    });

    it("lists the keys that begin with a prefix, two prefixes apart", async () => {
      const gas = ["gas:eth", "gas:eth:fast", "gas:base"];
      const others = ["gasoline", "price:eth", "price:eth:gas:eth"];
      for (const key of [...gas, ...others]) await kv.setItem(key, key);
      expect(await keysOf("gas:")).toEqual([...gas].sort());
      expect(await keysOf("gas:eth:")).toEqual(["gas:eth:fast"]);
      expect(await keysOf("gas:eth")).toEqual(["gas:eth", "gas:eth:fast"]);
      expect(await keysOf("gas")).toEqual([...gas, "gasoline"].sort());
      expect(await keysOf("price:")).toEqual(["price:eth", "price:eth:gas:eth"]);
      expect(await keysOf("nobody:")).toEqual([]);
      expect(await keysOf()).toEqual([...gas, ...others].sort());
      expect(await keysOf("")).toEqual(await keysOf());
      for (const key of [...gas, ...others]) expect(await kv.getItem(key)).toBe(key);

      await kv.removeItem("gas:eth");
      expect(await keysOf("gas:eth")).toEqual(["gas:eth:fast"]);
      expect(await kv.getItem("gas:eth:fast")).toBe("gas:eth:fast");
    });

    it(
      listsExpired === true ? "what it still lists after its time is absent" : "does not list what has expired",
      async () => {
        await kv.setItem("a:dead", 1, { ttl: 1 });
        await kv.setItem("a:alive", 1, { ttl: 60 });
        await kv.setItem("a:removed", 1, { ttl: 60 });
        await kv.removeItem("a:removed");
        store.advance(1_000);
        const listed = await keysOf("a:");
        if (listsExpired !== true) expect(listed).toEqual(["a:alive"]);
        const values = await Promise.all(listed.map((key) => kv.getItem(key)));
        expect(listed.filter((_key, i) => values[i] !== null)).toEqual(["a:alive"]);
        expect(["a:alive", "a:dead"]).toEqual(expect.arrayContaining(listed));
      },
    );

    it("lists hundreds of keys once each", async () => {
      const keys = Array.from({ length: 300 }, (_, i) => `many:${i}`);
      await Promise.all(keys.map((key) => kv.setItem(key, 1)));
      expect(await keysOf("many:")).toEqual([...keys].sort());
    });

    it("takes keys of any characters for what they are", async () => {
      // oxfmt-ignore
      const keys = [
        "UPPER", "upper2", "a b", " a", "a.b", "..", ".", "a..", "a:..:b", "..:a", "a/b", "a\\b", "a?b", "a#b", "a%b",
        "a%3Ab", "%", "a$", "a*", "a[b]", "a~", "a:~", "~", ":", "a:", ":a", "a::b", "ключ", "🌊", "a\nb", 'a"b', "1",
        "true", "null", "0xABCDEFabcdef0123456789ABCDEFabcdef01234567",
      ];
      for (const key of keys) await kv.setItem(key, key);
      for (const key of keys) expect(await kv.getItem(key), key).toBe(key);
      expect(await keysOf()).toEqual([...keys].sort());
      expect(await keysOf("a:")).toEqual(keys.filter((key) => key.startsWith("a:")).sort());
      expect(await keysOf("a*")).toEqual(["a*"]);
      expect(await keysOf("a[")).toEqual(["a[b]"]);
      for (const key of keys) await kv.removeItem(key);
      expect(await keysOf()).toEqual([]);
    });

    it("concurrent sets end in one of the values, whole", async () => {
      const values = Array.from({ length: 24 }, (_, i) => ({ i, filling: String(i % 10).repeat(1_000 * (i + 1)) }));
      await Promise.all(values.map((value) => kv.setItem("contended", value)));
      const left = (await kv.getItem("contended")) as { readonly i: number } | null;
      if (left !== null || tears !== true) expect(left).toEqual(values[left?.i ?? -1]);
      await Promise.all(values.map((value) => kv.setItem(`own:${value.i}`, value)));
      for (const value of values) expect(await kv.getItem(`own:${value.i}`)).toEqual(value);
    });
  });
}
