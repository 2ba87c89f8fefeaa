import { describe, expect, test } from "vitest";
import { parseTokens } from "../../src/callers/parse-tokens.ts";
import { weakTokens } from "../../src/callers/weak-tokens.ts";
import { createTokenSet } from "../../src/callers/tokens.ts";
import { SluiceError } from "../../src/errors.ts";
import { fingerprint } from "../../src/lib/fingerprint.ts";

const token = (n: number): string => `token-number-${String(n).padStart(6, "0")}`;

describe("parseTokens", () => {
  test("splits a string at commas and drops the space around them", () => {
    expect(parseTokens("tokens", `${token(1)}, ${token(2)}\n`)).toEqual([token(1), token(2)]);
  });

  test.each([
    ["an empty string", "", "token 1 is empty"],
    ["an empty entry", `${token(1)},,${token(2)}`, "token 2 is empty"],
    ["an empty list", [], "is an empty list"],
    ["white space", [`${token(1)} x`], "has white space in it"],
    ["a trailing line feed in a list", [`${token(1)}\n`], "has white space in it"],
    ["letters no header carries", [`${token(1)}é`], "cannot stand in a header"],
    ["a long one", ["x".repeat(513)], "has 513 characters; 512 are the most"],
    ["a repeated one", [token(1), token(2), token(1)], "is the same as token 1"],
  ])("refuses %s", (_, given, message) => {
    let thrown: unknown;
    try {
      parseTokens("callers.tokens (SLUICE_TOKENS)", given);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(SluiceError);
    if (!(thrown instanceof SluiceError)) return;
    expect(thrown.code).toBe("config_invalid");
    expect(thrown.message).toContain("callers.tokens (SLUICE_TOKENS)");
    expect(thrown.message).toContain(message);
    expect(thrown.message).toContain("openssl rand -hex 24");
  });

  test("names a bad token by its fingerprint and never by itself", () => {
    const bad = "sécret-of-a-kind";
    expect(() => parseTokens("tokens", [bad])).toThrow(fingerprint(bad));
    expect(() => parseTokens("tokens", [bad])).not.toThrow(bad);
  });

  test("takes a short one, with a warning that names it by its fingerprint", () => {
    expect(parseTokens("tokens", ["short"])).toEqual(["short"]);
    const [warning, ...rest] = weakTokens({ tokens: "short, sixteen-chars-00" }, undefined);
    expect(warning).toContain(fingerprint("short"));
    expect(warning).not.toContain(" short,");
    expect(rest).toEqual([]);
    expect(weakTokens(undefined, { token: "fifteen-chars-0" })).toHaveLength(1);
  });
});

describe("createTokenSet", () => {
  test("knows its tokens and no others", async () => {
    const set = createTokenSet([token(1), token(2)]);
    expect(await set.has(token(1))).toBe(true);
    expect(await set.has(token(2))).toBe(true);
    expect(await set.has(token(3))).toBe(false);
    expect(await set.has(token(1).slice(0, -1))).toBe(false);
    expect(await set.has(`${token(1)}x`)).toBe(false);
    expect(await set.has(token(1).toUpperCase())).toBe(false);
  });

  test("answers at once for a token that was right before, never for one that was wrong", async () => {
    const set = createTokenSet([token(1)]);
    expect(set.has(token(1))).toBeInstanceOf(Promise);
    await set.has(token(1));
    await set.has(token(3));
    expect(set.has(token(1))).toBe(true);
    expect(set.has(token(3))).toBeInstanceOf(Promise);
  });

  test("refuses what cannot be a token without a digest", () => {
    const set = createTokenSet([token(1)]);
    expect(set.has("")).toBe(false);
    expect(set.has("x".repeat(100_000))).toBe(false);
  });

  test("remembers a bounded number, and checks the forgotten ones again", async () => {
    const set = createTokenSet([token(1), token(2), token(3)], 2);
    for (const n of [1, 2, 3]) await set.has(token(n));
    expect(set.has(token(2))).toBe(true);
    expect(set.has(token(3))).toBe(true);
    const again = set.has(token(1));
    expect(again).toBeInstanceOf(Promise);
    expect(await again).toBe(true);
  });

  test("concurrent first checks each get their answer", async () => {
    const set = createTokenSet([token(1)]);
    const answers = await Promise.all([set.has(token(1)), set.has(token(2)), set.has(token(1))]);
    expect(answers).toEqual([true, false, true]);
  });
});
