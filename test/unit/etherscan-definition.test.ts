import { beforeAll, describe, expect, it } from "vitest";
import { SluiceError } from "../../src/errors.ts";
import { fingerprint } from "../../src/lib/fingerprint.ts";
import { etherscan } from "../../src/upstreams/etherscan/definition.ts";
import type { EtherscanOptions } from "../../src/upstreams/etherscan/options.ts";
import { collect, registerSecrets } from "../fixtures/secret-sink.ts";

const KEYS = Array.from({ length: 9 }, (_, index) => `DEFINITIONTESTKEY${index + 1}AAAAAAAAAAAAAAAA`);
const V2 = "https://api.etherscan.io/v2/api";

beforeAll(() => registerSecrets(...KEYS));

function failure(options: unknown): string {
  try {
    etherscan(options as EtherscanOptions);
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    expect(error.code).toBe("config_invalid");
    collect("etherscan configuration errors", error.message);
    return error.message;
  }
  throw new Error("the configuration was taken");
}

describe("the pool", () => {
  it("has the documented defaults", () => {
    const definition = etherscan({ keys: KEYS });
    expect(definition.terms).toEqual({ limit: 3, windowMs: 1000, jitterMs: 75, dailyStop: 95_000, dailyPacing: false });
    expect(definition).toMatchObject({
      strategy: "healthiest",
      maxAttempts: 3,
      maxWaitMs: 10_000,
      maxQueue: 1000,
      timeoutMs: 30_000,
      maxResponseBytes: 33_554_432,
      missing: null,
      warnings: [],
    });
    expect(definition.secrets).toEqual(KEYS);
    expect(definition.targets[8]).toEqual({
      id: fingerprint(KEYS[8] ?? ""),
      bucket: fingerprint(KEYS[8] ?? ""),
      baseUrl: V2,
      credential: KEYS[8],
      priority: 9,
      position: 9,
    });
  });

  it("reads keys from text with commas, white space and a trailing comma", () => {
    const [a, b, c] = KEYS;
    const read = (keys: string): unknown => etherscan({ keys }).targets.map((target) => target.credential);
    expect(read(`${a},${b},${c}`)).toEqual([a, b, c]);
    expect(read(` ${a} ,\n ${b}\n${c} ,\n`)).toEqual([a, b, c]);
  });

  it.each([[undefined], [""], [" \n"], [[]]])("says what is missing for keys %j", (keys) => {
    const definition = etherscan({ keys, groups: "4-9", slice: "1-5" });
    expect(definition).toMatchObject({ missing: "ETHERSCAN_KEYS", targets: [], warnings: [] });
  });

  it("takes its numbers, and floors the day's stop", () => {
    const definition = etherscan({ keys: KEYS, callsPerSec: 5, dailyCap: 99, dailyPacing: true, strategy: "priority" });
    expect(definition.terms).toMatchObject({ limit: 5, dailyStop: 94, dailyPacing: true });
    expect(definition.strategy).toBe("priority");
    expect(etherscan({ keys: KEYS, dailyCap: null }).terms.dailyStop).toBeNull();
  });
});

describe("slice", () => {
  it("selects by position in the whole pool", () => {
    expect(etherscan({ keys: KEYS, slice: "1,3,7" }).targets.map((target) => target.position)).toEqual([1, 3, 7]);
    expect(etherscan({ keys: KEYS, slice: "1,3,7" }).secrets).toHaveLength(9);
  });

  it("that selects nothing is the whole pool with a warning", () => {
    const definition = etherscan({ keys: KEYS, slice: "20" });
    expect(definition.targets).toHaveLength(9);
    expect(definition.warnings).toEqual([
      "slice (ETHERSCAN_KEY_SLICE) selects none of the 9 keys, so all of them are used.",
    ]);
  });
});

describe("base URLs", () => {
  const urlsOf = (options: EtherscanOptions): string[] => etherscan(options).targets.map((target) => target.baseUrl);

  it("go to keys one by one before slicing, or round", () => {
    const keys = KEYS.slice(0, 4);
    const four = ["https://a.example/api", "https://b.example/api", "https://c.example/api", "https://d.example/api"];
    expect(urlsOf({ keys, baseUrls: four, slice: "2,4" })).toEqual([four[1], four[3]]);
    expect(urlsOf({ keys, baseUrls: "https://a.example/api, https://b.example/api" })).toEqual([
      four[0],
      four[1],
      four[0],
      four[1],
    ]);
  });

  it("get the default path when they have none", () => {
    expect(urlsOf({ keys: KEYS.slice(0, 1), baseUrls: "http://127.0.0.1:9999" })).toEqual([
      "http://127.0.0.1:9999/v2/api",
    ]);
    expect(urlsOf({ keys: KEYS.slice(0, 1), baseUrls: "https://x.example/api/" })).toEqual(["https://x.example/api"]);
  });

  it.each([
    ["nonsense", "baseUrls[0] (ETHERSCAN_BASE_URLS) is not a URL"],
    ["ftp://example.org/api", "baseUrls[0] (ETHERSCAN_BASE_URLS) is neither http nor https"],
    ["https://user:hushhushhush@example.org/api", "baseUrls[0] (ETHERSCAN_BASE_URLS) has a user or password"],
    ["https://example.org/api?ApiKey=hushhushhush", "baseUrls[0] (ETHERSCAN_BASE_URLS) has an apikey in it"],
    [
      "https://a.example,https://b.example,https://c.example",
      "baseUrls (ETHERSCAN_BASE_URLS) has 3 entries for 2 keys",
    ],
  ])("%s is refused", (baseUrls, expected) => {
    const message = failure({ keys: KEYS.slice(0, 2), baseUrls });
    expect(message).toContain(expected);
    expect(message).not.toContain("hush");
  });
});

describe("groups", () => {
  const bucketsOf = (options: EtherscanOptions): string[] => etherscan(options).targets.map((target) => target.bucket);

  it("share a bucket whose name does not hang on the keys' order", () => {
    const buckets = bucketsOf({ keys: KEYS, groups: "4-6;7,8" });
    expect(new Set(buckets).size).toBe(6);
    expect(buckets[3]).toMatch(/^g[0-9a-f]{12}$/);
    expect(buckets[4]).toBe(buckets[3]);
    expect(buckets[7]).toBe(buckets[6]);
    expect(buckets[8]).toBe(fingerprint(KEYS[8] ?? ""));
    expect(bucketsOf({ keys: [...KEYS].reverse(), groups: [[4, 5, 6]] })[3]).toBe(buckets[3]);
  });

  it("count only the members inside the slice", () => {
    const buckets = bucketsOf({ keys: KEYS, groups: "4-6", slice: "1,4" });
    expect(buckets[1]).toBe(fingerprint(KEYS[3] ?? ""));
    const two = bucketsOf({ keys: KEYS, groups: "4-6", slice: "4,6" });
    expect(two[0]).toBe(two[1]);
  });

  it("tell the setting that would join more keys", () => {
    expect(etherscan({ keys: KEYS }).groupSetting([4, 5, 6])).toBe("ETHERSCAN_KEY_GROUPS=4-6");
    const definition = etherscan({ keys: KEYS, groups: "4-6;1,2" });
    expect(definition.groupSetting([8, 5])).toBe("ETHERSCAN_KEY_GROUPS=1,2;4-6,8");
    expect(definition.groupSetting([7, 9])).toBe("ETHERSCAN_KEY_GROUPS=1,2;4-6;7,9");
    expect(definition.groupSetting([2, 4])).toBe("ETHERSCAN_KEY_GROUPS=1,2,4-6");
  });
});

describe("a wrong option", () => {
  const [a = "", b = ""] = KEYS;
  it.each([
    [
      "a duplicate",
      { keys: [a, b, a] },
      `keys[2] (ETHERSCAN_KEYS, fingerprint ${fingerprint(a)}) is the same as keys[0]`,
    ],
    ["an empty entry", { keys: `${a},,${b}` }, "keys[1] (ETHERSCAN_KEYS) is empty"],
    ["an empty entry of a list", { keys: [a, ""] }, "keys[1] (ETHERSCAN_KEYS) is empty"],
    ["white space", { keys: [a, `${b} `] }, "keys[1] (ETHERSCAN_KEYS, fingerprint "],
    ["quotes", { keys: `"${a}",${b}` }, "has quotes; write the key without them"],
    ["a placeholder", { keys: "YourApiKeyToken" }, "keys[0] (ETHERSCAN_KEYS, fingerprint "],
    ["another placeholder", { keys: [a, "<your-key>"] }, "is a placeholder"],
    ["a strange character", { keys: [`${a}\u200b`] }, "has a character that no key has"],
    ["keys of a wrong type", { keys: 7 }, "keys is neither a string nor a list of strings"],
    ["a key in two groups", { keys: KEYS, groups: "1-3;3,4" }, "both have key 3; write it in one"],
    ["a group beyond the pool", { keys: KEYS, groups: "8-12" }, "ETHERSCAN_KEY_GROUPS) names key 12 of 9"],
    ["groups of a wrong type", { keys: KEYS, groups: 5 }, 'write "4-6;7,8"'],
    ["a position that is no number", { keys: KEYS, groups: [[1, Number.NaN]] }, '"NaN" is neither a position'],
    ["a slice backwards", { keys: KEYS, slice: "5-1" }, "ETHERSCAN_KEY_SLICE): the range 5-1 runs backwards"],
    ["a slice of words", { keys: KEYS, slice: "a" }, "ETHERSCAN_KEY_SLICE)"],
    ["NaN", { keys: KEYS, callsPerSec: Number.NaN }, "callsPerSec is NaN; write a number from 0.01"],
    ["a negative number", { keys: KEYS, jitterMs: -1 }, "jitterMs is -1; write a number from 0"],
    ["a fraction", { keys: KEYS, maxAttempts: 1.5 }, "maxAttempts is 1.5; write a whole number from 1"],
    ["zero", { keys: KEYS, timeoutMs: 0 }, "timeoutMs is 0"],
    ["text for a number", { keys: KEYS, dailyCap: b }, `dailyCap is text (fingerprint ${fingerprint(b)})`],
    ["text for a boolean", { keys: KEYS, dailyPacing: "yes" }, "dailyPacing is text"],
    ["an unknown strategy", { keys: KEYS, strategy: "best" }, "write healthiest, round_robin, priority"],
  ])("%s is named, with what to write", (_what, options, expected) => {
    expect(failure(options)).toContain(expected);
  });
});
