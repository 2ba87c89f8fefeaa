import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expandIndexes, formatIndexList, parseIndexList } from "../../src/lib/index-list.ts";
import { applyKeyGroups, applyKeySlice } from "../../src/upstreams/etherscan/key-slice.ts";

const KEYS = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];

describe("applyKeySlice", () => {
  it.each([
    ["1-5", "abcde"],
    ["1,3,7", "acg"],
    ["1-3, 7 ,9", "abcgi"],
    ["7,1,1-2", "abg"],
    [" 2 - 4 ", "bcd"],
    ["8-999999999999", "hi"],
  ])("%j selects %s", (spec, expected) => {
    expect(applyKeySlice(KEYS, spec).join("")).toBe(expected);
  });

  it.each([[undefined], [""], ["  "], ["10"], ["20-30"]])("%j leaves the whole pool", (spec) => {
    expect(applyKeySlice(KEYS, spec)).toEqual(KEYS);
  });

  it.each(["5-1", "a", "0", "1,,2", "1-", "-3", "1;2", "1.5", "1-2-3"])("%j is refused by name", (spec) => {
    expect(() => applyKeySlice(KEYS, spec)).toThrow(/ETHERSCAN_KEY_SLICE.*write it like "1-5" or "1,3,7"/);
  });
});

describe("applyKeyGroups", () => {
  it("reads groups by position", () => {
    expect(applyKeyGroups(KEYS, "4-9").map((group) => group.join(""))).toEqual(["defghi"]);
    expect(applyKeyGroups(KEYS, "4-6;7,8;").map((group) => group.join(""))).toEqual(["def", "gh"]);
  });

  it("has no fall-back, and leaves out a group of one", () => {
    expect(applyKeyGroups(KEYS)).toEqual([]);
    expect(applyKeyGroups(KEYS, "")).toEqual([]);
    expect(applyKeyGroups(KEYS, "2;3-4")).toEqual([["c", "d"]]);
  });

  it("refuses a key in two groups and a key that is not there", () => {
    expect(() => applyKeyGroups(KEYS, "1-3;3,4")).toThrow(/group 2 .*ETHERSCAN_KEY_GROUPS.* group 1 both have key 3/);
    expect(() => applyKeyGroups(KEYS, "1-3;3")).toThrow(/both have key 3/);
    expect(() => applyKeyGroups(KEYS, "8-10")).toThrow(/names key 10 of 9; write positions from 1 to 9/);
    expect(() => applyKeyGroups(KEYS, "x")).toThrow(/group 1 of groups \(ETHERSCAN_KEY_GROUPS\)/);
  });
});

describe("formatIndexList", () => {
  it("is short and is read back", () => {
    expect(formatIndexList([4, 5, 6])).toBe("4-6");
    expect(formatIndexList([8, 4, 5, 4])).toBe("4,5,8");
    expect(formatIndexList([])).toBe("");
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), (positions) => {
        const ranges = parseIndexList(formatIndexList(positions));
        if (typeof ranges === "string") throw new Error(ranges);
        expect(expandIndexes(ranges, 60)).toEqual([...positions].sort((a, b) => a - b));
      }),
    );
  });
});
