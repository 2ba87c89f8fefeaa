import { describe, expect, test } from "vitest";
import { fingerprint } from "../../src/lib/fingerprint.ts";
import { createRedactor } from "../../src/lib/redact.ts";

const KEY = "ABCDEF1234567890abcdefGHIJ";
const shown = (secret: string): string => `[${fingerprint(secret)}]`;
const redact = createRedactor([KEY]);

describe("known secrets", () => {
  test("become their fingerprints, wherever they stand and in any case", () => {
    expect(redact(`Invalid API Key ${KEY}, (${KEY.toLowerCase()})`)).toBe(
      `Invalid API Key ${shown(KEY)}, (${shown(KEY)})`,
    );
  });

  test("that contain others go first", () => {
    const long = `${KEY}-and-more`;
    expect(createRedactor([KEY, long])(`a ${long} b ${KEY}`)).toBe(`a ${shown(long)} b ${shown(KEY)}`);
  });

  test.each([
    ["encodeURIComponent", (s: string) => encodeURIComponent(s)],
    ["lower-case escapes", (s: string) => encodeURIComponent(s).toLowerCase()],
    ["a form", (s: string) => new URLSearchParams({ k: s }).toString().slice(2)],
    ["JSON", (s: string) => JSON.stringify(s)],
    ["itself", (s: string) => s],
  ])("are found in the writing of %s", (_, write) => {
    const odd = 'p+/= "w$(.*)d\\';
    const text = createRedactor([odd])(`x ${write(odd)} y`);
    expect(text.replaceAll('"', "")).toBe(`x ${shown(odd)} y`);
  });

  test("may be empty or ill-formed without harm", () => {
    expect(createRedactor(["", "\ud800broken-secret"])("nothing to hide")).toBe("nothing to hide");
    expect(createRedactor([])("nothing to hide")).toBe("nothing to hide");
  });
});

describe("unknown secrets", () => {
  test.each([
    ["https://eth-mainnet.g.alchemy.com/v2/unknownkey", "https://eth-mainnet.g.alchemy.com"],
    ["see https://rpc.example:8545/k3y?x=1#y.", "see https://rpc.example:8545."],
    ["(https://rpc.example/k3y)", "(https://rpc.example)"],
    ["(https://rpc.example)", "(https://rpc.example)"],
    ["wss://rpc.example/ws/k3y", "wss://rpc.example"],
    ["redis://default:pa55word@db.example:6379/0", "redis://db.example:6379"],
    ["https://user@example.com:pw@rpc.example/x", "https://rpc.example"],
    ["http://[::1]:8545/k3y", "http://[::1]:8545"],
    ["redis://:pa/ss@db.example", "redis://[redacted]"],
    ['{"url":"https:\\/\\/rpc.example\\/k3y"}', '{"url":"https://rpc.example"}'],
    ["GET /v2/api?module=account&apikey=k3y&tag=latest", "GET /v2/api?module=account&apikey=[redacted]&tag=latest"],
    ["?api_key=k3y", "?api_key=[redacted]"],
    ["?api-key=k3y", "?api-key=[redacted]"],
    ["?key=k3y&token=t0k", "?key=[redacted]&token=[redacted]"],
    ["access_token=t0k;", "access_token=[redacted]"],
    ["Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [redacted]"],
    ["authorization: 'Basic dXNlcjpwYXNz'", "authorization: 'Basic [redacted]'"],
    ['{"x-api-key":"abcdefgh"}', '{"x-api-key":"[redacted]"}'],
    ["sent Bearer abcdefgh12345678", "sent Bearer [redacted]"],
  ])("%s", (text, expected) => {
    expect(redact(text)).toBe(expected);
    expect(redact(redact(text))).toBe(expected);
  });

  test.each(["Invalid API Key: too short", "the bearer of authentication", "monkey=3", "a://", "12:30://x"])(
    "what is none stays: %s",
    (text) => expect(redact(text)).toContain(text.replace("://x", "")),
  );
});

test("viem's and fetch's error texts lose the key and keep the sense", () => {
  const text = [
    "HTTP request failed.",
    "",
    "Status: 401",
    `URL: https://mainnet.infura.io/v3/${KEY}`,
    'Request body: {"method":"eth_chainId"}',
    "",
    `Details: Must be authenticated with ${KEY}!`,
    "Version: viem@2.57.20",
  ].join("\n");
  expect(redact(text)).toBe(
    [
      "HTTP request failed.",
      "",
      "Status: 401",
      "URL: https://mainnet.infura.io",
      'Request body: {"method":"eth_chainId"}',
      "",
      `Details: Must be authenticated with ${shown(KEY)}!`,
      "Version: viem@2.57.20",
    ].join("\n"),
  );
  expect(redact(`Failed to parse URL from https://${KEY}.quiknode.pro/${KEY}/`)).toBe(
    `Failed to parse URL from https://${shown(KEY)}.quiknode.pro`,
  );
  expect(redact(`apikey=${KEY}&x=1`)).toBe(`apikey=${shown(KEY)}&x=1`);
});

test.each([
  ["schemes", "http://".repeat(50_000)],
  ["words and points", "a.".repeat(200_000)],
  ["punctuation", `http://x/${")".repeat(200_000)}x`],
  ["space", `authorization${" ".repeat(200_000)}x-api-key${" ".repeat(200_000)}bearer${" ".repeat(200_000)}`],
  ["names", "api_key=".repeat(50_000)],
  ["userinfo", `http://${"@".repeat(200_000)}`],
])("hostile text of %s takes no quadratic time", (_, text) => {
  const started = performance.now();
  redact(text);
  expect(performance.now() - started).toBeLessThan(1_000);
});
