import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { judge } from "../../src/judge.ts";
import type { Verdict, VerdictClass, VerdictScope } from "../../src/ports/verdict.ts";
import { judgeEtherscan } from "../../src/upstreams/etherscan/judge.ts";

interface CorpusRow {
  readonly id: string;
  readonly family: string;
  readonly status: number | null;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly request: Record<string, unknown>;
  readonly truth: {
    readonly class: VerdictClass;
    readonly scope?: VerdictScope;
    readonly retry_after_ms?: number;
    readonly alt?: readonly VerdictClass[];
  };
}

const ROWS = readFileSync(new URL("../fixtures/upstream-answers.jsonl", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as CorpusRow)
  .filter((row) => row.family === "etherscan");

const JSON_TYPE = { "content-type": "application/json" };
const HTML_TYPE = { "content-type": "text/html; charset=UTF-8" };
const ACCOUNT = { module: "account", action: "txlist", chainid: "1" };
const PROXY = { module: "proxy", action: "eth_call", chainid: "1" };

const ask = (body: string, request: Record<string, unknown> = ACCOUNT, status: number | null = 200): Verdict =>
  judgeEtherscan({ status, headers: JSON_TYPE, body }, request);
const refused = (result: unknown, message = "NOTOK"): string => JSON.stringify({ status: "0", message, result });
const rpcError = (code: number, message: string, data?: unknown): string =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code, message, data } });

/** `class` or `class/scope`; a scope that is not written is `request`. */
const short = (verdict: Verdict): string =>
  verdict.scope === "request" ? verdict.class : `${verdict.class}/${verdict.scope}`;

describe("the corpus", () => {
  it("has all etherscan rows", () => {
    expect(ROWS.length).toBeGreaterThanOrEqual(32);
  });

  it.each(ROWS.map((row) => [row.id, row] as const))("%s is judged right", (_id, row) => {
    const verdict = judge("etherscan", row, row.request);
    expect([row.truth.class, ...(row.truth.alt ?? [])]).toContain(verdict.class);
    expect(verdict.scope).toBe(row.truth.scope ?? verdict.scope);
    if (row.truth.retry_after_ms !== undefined) expect(verdict.retryAfterMs).toBe(row.truth.retry_after_ms);
  });

  it("does not hang on the envelope's dress", () => {
    for (const row of ROWS) {
      if (!row.body.trim().startsWith("{")) continue;
      const json = JSON.parse(row.body) as Record<string, unknown>;
      const plain = short(judgeEtherscan(row, row.request));
      const asNumber = "status" in json ? { ...json, status: Number(json["status"]) } : json;
      const turned = Object.fromEntries(Object.entries(json).reverse());
      const loud = Object.fromEntries(Object.entries(json).map(([key, value]) => [key.toUpperCase(), value]));
      const dresses = [JSON.stringify(asNumber), JSON.stringify(turned), `\uFEFF \r\n${row.body}\n\n`];
      if (!("error" in json)) dresses.push(JSON.stringify(loud));
      for (const body of dresses) {
        expect([row.id, short(judgeEtherscan({ ...row, body }, row.request))]).toEqual([row.id, plain]);
      }
    }
  });
});

describe("sentences of a refusal", () => {
  it.each([
    // per second
    ["Max rate limit reached, please use API Key for higher rate limit", "rate_limited_second/key"],
    ["Max rate limit reached, rate limit of 1/5sec applied", "rate_limited_second/account"],
    ["max calls per sec rate limit reached (10/sec)", "rate_limited_second/account"],
    ["Max calls per sec rate limit reached", "rate_limited_second/key"],
    ["rate limited", "rate_limited_second/key"],
    ["Max rate limit reached, please try again later", "rate_limited_second/key"],
    ["Max rate limit reached. Upgrade your plan for more calls", "rate_limited_second/key"],
    ["Too many requests, please slow down", "rate_limited_second/ip"],
    ["Too many invalid api key attempts, please try again later", "rate_limited_second/ip"],
    // the day
    ["Max daily rate limit reached. 100001 (100%) of 100000 day/limit", "rate_limited_daily/account"],
    ["Max daily rate limit reached", "rate_limited_daily/account"],
    ["Daily limit reached", "rate_limited_daily/account"],
    ["You have exceeded the quota of 100000 calls per day", "rate_limited_daily/account"],
    [
      "Community Free API limit reached. Resets 2026-09-01 12:00:00 UTC. For higher limits, please upgrade to API Pro",
      "rate_limited_daily/account+chain",
    ],
    ["Daily limit of 100 source code submissions reached", "rate_limited_daily/account+method"],
    // the key
    ["Invalid API Key", "key_invalid/key"],
    ["Invalid API Key (#err2)|1", "key_invalid/key"],
    ["Invalid API Key (#err2)|POLY-2", "key_invalid/key"],
    ["Missing/Invalid API Key, rate limit of 1/5sec applied", "key_invalid/key"],
    ["invalid api-key provided", "key_invalid/key"],
    ["API Key is not active", "key_invalid/key"],
    ["This API key has been suspended", "key_invalid/key"],
    ["Your API key has expired", "key_invalid/key"],
    // the plan
    [
      "Free API access is not supported for this chain. Please upgrade your api plan for full chain coverage.",
      "key_forbidden/key+chain",
    ],
    ["API key not eligible for this endpoint", "key_forbidden/key+method"],
    ["This endpoint is only available on a paid plan", "key_forbidden/key+method"],
    ["Insufficient credits, please top up", "billing/account"],
    // load
    [
      "Free API access is temporarily unavailable due to unusually high network activity. To maintain uninterrupted " +
        "service, we recommend upgrading to a paid plan: https://etherscan.io/apis",
      "overloaded/account",
    ],
    ["Unexpected error, timeout or server too busy. Please try again later", "overloaded/upstream"],
    ["Unexpected err, timeout occurred or server too busy. Please try again later", "overloaded/upstream"],
    ["Other Exception - Please contact us for more information.", "network/upstream"],
    // what was asked
    ["Query Timeout occured. Please select a smaller result dataset", "range_too_large"],
    ["Result window is too large, PageNo x Offset size must be less than or equal to 1000", "range_too_large"],
    ["Error! Invalid address format", "caller_fault"],
    ["Error! Invalid contract address format", "caller_fault"],
    ["Error! Missing Or invalid Action name", "caller_fault"],
    ["Error! Missing Or invalid Module name (#2)", "caller_fault"],
    ["Error! Transaction hash not found", "caller_fault"],
    ["Invalid constructor arguments provided. Please verify that they are in ABI-encoded format", "caller_fault"],
    ["Unable to locate ContractCode at 0x817683366DfAF428a4972bcF314731F9728Dbb66", "caller_fault"],
    ["a sentence that nobody has ever read", "caller_fault"],
    ["", "caller_fault"],
    [null, "caller_fault"],
    // the base URL and the chain
    [
      "You are using a deprecated V1 endpoint, switch to Etherscan API V2 using https://docs.etherscan.io/v2-migration",
      "method_unsupported/upstream",
    ],
    ["Please switch to API V2, for more info https://docs.etherscan.io/etherscan-v2", "method_unsupported/upstream"],
    ["Missing chainid parameter (required for v2 api)", "method_unsupported/upstream+chain"],
    // answers in the dress of refusals
    ["Contract source code not verified", "ok"],
    ["Contract source code already verified", "ok"],
    ["Already Verified", "ok"],
    ["Pending in queue", "ok"],
    ["Fail - Unable to verify", "ok"],
    ["Fail - Unable to verify. Invalid API Key contract hits the rate limit", "ok"],
    ["Pass - Verified", "ok"],
    ["Error! Block number already pass", "ok"],
    ["Error! No closest block found", "ok"],
    ["No token found for the provided contract address", "ok"],
    ["0x", "ok"],
    ["12345", "ok"],
  ])("%j is %s", (result, expected) => {
    expect(short(ask(refused(result)))).toBe(expected);
  });

  it("means the same in `message` with an empty result, and as a bare text", () => {
    for (const [sentence, expected] of [
      ["Free API access is not supported for this chain", "key_forbidden/key+chain"],
      ["Query Timeout occured. Please select a smaller result dataset", "range_too_large"],
      ["Max rate limit reached", "rate_limited_second/key"],
      ["Unexpected error, timeout or server too busy. Please try again later", "overloaded/upstream"],
    ] as const) {
      expect(short(ask(refused(null, sentence)))).toBe(expected);
      expect(short(ask(refused([], sentence)))).toBe(expected);
    }
    expect(short(ask("Max rate limit reached"))).toBe("rate_limited_second/key");
    expect(short(ask('"Max rate limit reached"'))).toBe("rate_limited_second/key");
  });

  it.each([
    "No transactions found",
    "No records found",
    "No token transfers found",
    "No data found",
    "No blocks found",
  ])("%s is an answer", (message) => {
    expect(short(ask(refused([], message)))).toBe("ok");
    expect(short(ask(refused(null, message)))).toBe("ok");
  });

  it("believes the result before the message, which may only warn of the key", () => {
    const warning = "NOTOK-Missing/Invalid API Key, rate limit of 1/5sec applied";
    expect(short(ask(refused("Error! Missing Or invalid Module name", warning)))).toBe("caller_fault");
    const pro = "Sorry, it looks like you are trying to access an API Pro endpoint. Contact us to upgrade to API Pro.";
    expect(short(ask(refused(pro, warning)))).toBe("key_forbidden/key+method");
    expect(short(ask(refused(null, warning)))).toBe("key_invalid/key");
    expect(ask(JSON.stringify({ status: "1", message: `OK-${warning.slice(6)}`, result: "1" })).reason).toBe(
      "key_warning",
    );
  });

  it("takes a chain id that is no number for the caller's mistake", () => {
    const sentence = "Missing or unsupported chainid parameter (required for v2 api)";
    expect(short(ask(refused(sentence), { ...ACCOUNT, chainid: "420,10" }))).toBe("caller_fault");
    expect(short(ask(refused(sentence), { ...ACCOUNT, chainid: 999_999 }))).toBe("method_unsupported/upstream+chain");
  });

  it("reads the stated ceiling", () => {
    expect(ask(refused("Max calls per sec rate limit reached (3/sec)")).observedLimit).toBe(3);
    expect(ask(refused("Max calls per sec rate limit reached (1/5sec)")).observedLimit).toBe(0.2);
    expect(ask(refused("Rate limit reached: 5 calls per second")).observedLimit).toBe(5);
    expect(ask(refused("Max rate limit reached")).observedLimit).toBeUndefined();
    expect(ask(refused("Max calls per sec rate limit reached (0/sec)")).observedLimit).toBeUndefined();
    expect(
      ask(refused("Max daily rate limit reached. 110000 (100%) of 100000 day/limit")).observedLimit,
    ).toBeUndefined();
  });
});

describe("data", () => {
  it.each([
    { status: "1", message: "OK", result: "Max rate limit reached" },
    {
      status: "1",
      message: "OK",
      result: [{ SourceCode: "// Invalid API Key, rate limit reached", ContractName: "x" }],
    },
    { status: "1", message: "OK", result: [{ ContractName: "Max daily rate limit reached" }] },
    { status: 1, message: "OK", result: [] },
    { status: "0", message: "OK", result: [{ tokenName: "Invalid API Key" }] },
    { message: "OK", result: "12", status: "1" },
  ])("is data, whatever words it holds: %j", (envelope) => {
    expect(short(ask(JSON.stringify(envelope)))).toBe("ok");
  });

  it("is told from pages and cut-off bodies by its ends when it is large", () => {
    const code = "contract A { string s = 'Max rate limit reached'; }".repeat(6000);
    const large = JSON.stringify({ status: "1", message: "OK", result: [{ SourceCode: code }] });
    const last = JSON.stringify({ message: "OK", result: [{ SourceCode: code }], status: "1" });
    expect(large.length).toBeGreaterThan(262_144);
    expect(short(ask(large))).toBe("ok");
    expect(short(ask(last))).toBe("ok");
    expect(ask(large.slice(0, -1)).reason).toBe("truncated_body");
    expect(short(ask(`<html>${code}`))).toBe("network/upstream");
    expect(short(ask(large, ACCOUNT, 502))).toBe("network/upstream");
  });
});

describe("the proxy module", () => {
  it.each([
    ['{"jsonrpc":"2.0","id":1,"result":"0x10"}', "ok"],
    ['{"jsonrpc":"2.0","id":1,"result":null}', "ok"],
    ['{"jsonrpc":"2.0","id":1,"result":"0x1","error":null}', "ok"],
    [rpcError(3, "execution reverted: rate limit exceeded"), "ok"],
    [rpcError(-32000, "execution reverted: Invalid API Key"), "ok"],
    [rpcError(-32015, "VM execution error.", "Reverted 0x08c379a0"), "ok"],
    [rpcError(-32000, "already known"), "tx_known"],
    [rpcError(-32010, "Transaction with the same hash was already imported."), "tx_known"],
    [rpcError(-32000, "nonce too low: next nonce 5, tx nonce 4"), "caller_fault"],
    [rpcError(-32000, "replacement transaction underpriced"), "caller_fault"],
    [rpcError(-32000, "insufficient funds for gas * price + value"), "caller_fault"],
    [rpcError(-32000, "invalid chain id for signer: have 5 want 1"), "caller_fault"],
    [rpcError(-32602, "invalid argument 0: hex string without 0x prefix"), "caller_fault"],
    [rpcError(-32603, "rejected"), "caller_fault"],
    [rpcError(-32000, "execution aborted (timeout = 5s)"), "network/node"],
    [rpcError(-32000, "context deadline exceeded"), "network/node"],
    [rpcError(-32603, "Internal error"), "network/upstream"],
    [rpcError(-32000, "missing trie node 1a2b (path )"), "node_lagging/node"],
    [rpcError(-32000, "header not found"), "node_lagging/node"],
    [rpcError(-32601, "the method eth_foo does not exist/is not available"), "method_unsupported/upstream+method"],
    [rpcError(-32005, "limit exceeded"), "rate_limited_second/key"],
    [rpcError(-32000, "Max rate limit reached"), "rate_limited_second/key"],
    ['{"jsonrpc":"2.0","id":1,"error":"Invalid address hash"}', "caller_fault"],
    ['{"jsonrpc":"2.0","id":1,"error":"Max rate limit reached"}', "rate_limited_second/key"],
    [refused("Max calls per sec rate limit reached (3/sec)"), "rate_limited_second/account"],
    ['{"jsonrpc":"2.0","id":1,"result":"Max rate limit reached"}', "rate_limited_second/key"],
  ])("%s is %s", (body, expected) => {
    expect(short(ask(body, PROXY))).toBe(expected);
  });

  it("does not take prose for a transaction hash", () => {
    const send = { module: "proxy", action: "eth_sendRawTransaction" };
    const prose = "Max rate limit reached, please use API Key for higher rate limit";
    expect(short(ask(JSON.stringify({ status: "1", message: "OK", result: prose }), send))).toBe(
      "rate_limited_second/key",
    );
    expect(short(ask('{"jsonrpc":"2.0","id":1,"result":"Error! Invalid transaction"}', send))).toBe("caller_fault");
  });
});

describe("HTTP", () => {
  const page = (title: string): string =>
    `<!DOCTYPE html><html><head><title>${title}</title></head><body></body></html>`;
  it.each([
    [null, "", "network/upstream"],
    [200, "", "network/upstream"],
    [200, "   \n", "network/upstream"],
    [200, "null", "network/upstream"],
    [200, "[]", "network/upstream"],
    [200, '[{"status":"1"}]', "network/upstream"],
    [200, "17", "network/upstream"],
    [200, '{"status":"0","message":"NOTOK","result":"Max rate lim', "network/upstream"],
    [200, '{"hello":1}', "network/upstream"],
    [200, page("Etherscan"), "network/upstream"],
    [200, page("Down for maintenance"), "overloaded/upstream"],
    [200, page("Just a moment..."), "network/ip"],
    [403, page("Attention Required! | Cloudflare"), "network/ip"],
    [403, "Forbidden", "network/ip"],
    [403, '{"message":"Forbidden"}', "key_forbidden/key"],
    [403, refused("Invalid API Key"), "key_invalid/key"],
    [401, '{"message":"Unauthorized"}', "key_invalid/key"],
    [402, "", "billing/key"],
    [404, page("404 Not Found"), "method_unsupported/upstream"],
    [404, '{"message":"Not found","result":null,"status":"0"}', "method_unsupported/upstream"],
    [200, "Page not found", "method_unsupported/upstream"],
    [301, page("301 Moved Permanently"), "method_unsupported/upstream"],
    [400, '{"message":"Unknown action","result":null,"status":"0"}', "caller_fault"],
    [
      400,
      `{"message":"Params 'module' and 'action' are required parameters","result":null,"status":"0"}`,
      "caller_fault",
    ],
    [413, page("413 Request Entity Too Large"), "request_too_large"],
    [414, page("414 Request-URI Too Large"), "request_too_large"],
    [429, '{"message":"429 Too Many Requests","result":null,"status":"0"}', "rate_limited_second/ip"],
    [429, page("429 Too Many Requests"), "rate_limited_second/ip"],
    [429, "error code: 1015", "rate_limited_second/ip"],
    [429, refused("Max daily rate limit reached"), "rate_limited_daily/account"],
    [500, '{"message":"Internal Server Error"}', "network/upstream"],
    [500, page("500"), "network/upstream"],
    [500, '{"status":"1","message":"OK","result":"1"}', "network/upstream"],
    [500, refused("Error! Missing Or invalid Action name"), "caller_fault"],
    [502, page("502 Bad Gateway"), "network/upstream"],
    [502, '{"message":"An invalid response was received from the upstream server"}', "network/upstream"],
    [503, page("503 Service Temporarily Unavailable"), "overloaded/upstream"],
    [503, page("We are under maintenance"), "overloaded/upstream"],
    [503, "upstream connect error or disconnect/reset before headers", "network/upstream"],
    [522, page("example.org | 522: Connection timed out"), "network/upstream"],
    [530, "error code: 1016", "network/upstream"],
  ])("%s %s is %s", (status, body, expected) => {
    const headers = body.startsWith("<") ? HTML_TYPE : { "content-type": "text/plain" };
    expect(short(judgeEtherscan({ status, headers, body }, ACCOUNT))).toBe(expected);
  });

  it("reads how long to stay away", () => {
    const limited = { status: 429, body: '{"message":"Too many requests","result":null,"status":"0"}' };
    const wait = (headers: Record<string, string> | Headers): number | undefined =>
      judgeEtherscan({ ...limited, headers }, ACCOUNT).retryAfterMs;
    const date = "Sun, 29 Nov 2026 12:00:00 GMT";
    expect(wait({})).toBe(1000);
    expect(wait({ "Retry-After": "7" })).toBe(7000);
    expect(wait(new Headers({ "retry-after": "0.5" }))).toBe(500);
    expect(wait({ "retry-after": "Sun, 29 Nov 2026 12:00:30 GMT", DATE: date })).toBe(30_000);
    expect(wait({ "retry-after": "Sun, 29 Nov 2026 11:00:00 GMT", date })).toBe(0);
    expect(wait({ "retry-after": "Sun, 29 Nov 2026 12:00:30 GMT" })).toBe(1000);
    expect(wait({ "retry-after": "soon" })).toBe(1000);
    expect(wait({ "retry-after": "99999999" })).toBe(86_400_000);
    expect(wait({ "X-RateLimit-Reset": "41250" })).toBe(41_250);
    expect(wait({ "x-ratelimit-reset": String(Date.parse(date) / 1000 + 9), date })).toBe(9000);
  });

  it("tells Routescan's day from its minute", () => {
    const ask429 = (headers: Record<string, string>): Verdict =>
      judgeEtherscan({ status: 429, headers, body: '{"message":"Too many requests"}' }, ACCOUNT);
    expect(
      ask429({ "x-ratelimit-rpd-remaining": "0", "x-ratelimit-rpd-reset": "3600", "x-ratelimit-rpm-remaining": "0" }),
    ).toMatchObject({ class: "rate_limited_daily", scope: "account", retryAfterMs: 3_600_000 });
    expect(
      ask429({ "x-ratelimit-rpd-remaining": "9", "x-ratelimit-rpm-remaining": "0", "x-ratelimit-rpm-reset": "12" }),
    ).toMatchObject({ class: "rate_limited_second", retryAfterMs: 12_000 });
  });

  it("measures a stated reset against the answer's own date", () => {
    const body = refused("Community Free API limit reached. Resets 2026-11-30 00:00:00 UTC.");
    const headers = { date: "Sun, 29 Nov 2026 23:00:00 GMT" };
    expect(judgeEtherscan({ status: 200, headers, body }, ACCOUNT).retryAfterMs).toBe(3_600_000);
    expect(judgeEtherscan({ status: 200, headers: {}, body }, ACCOUNT).retryAfterMs).toBeUndefined();
  });
});

describe("whatever comes", () => {
  it("never throws, and says a word of ours", () => {
    const body = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().map((json) => `{"status":"0","message":${json},"result":${json}}`),
    );
    const request = fc.dictionary(fc.string(), fc.anything());
    fc.assert(
      fc.property(body, fc.option(fc.integer({ min: 100, max: 599 })), request, (text, status, facts) => {
        const verdict = judgeEtherscan({ status, headers: {}, body: text }, facts);
        expect(verdict.reason).toMatch(/^[a-z0-9_]{2,30}$/);
      }),
      { numRuns: 500 },
    );
    expect(short(ask('{"status":{"toString":1},"message":{"toString":null},"result":{}}'))).toBe("caller_fault");
  });
});

describe("judge", () => {
  it("names the protocols it knows", () => {
    const unknown = "solana" as "etherscan";
    expect(() => judge(unknown, { status: 200 }, {})).toThrow(/one of: etherscan/);
    expect(() => judge("toString" as "etherscan", { status: 200 }, {})).toThrow(/one of: etherscan/);
  });

  it("takes an answer without headers and body", () => {
    expect(judge("etherscan", { status: null })).toEqual({ class: "network", scope: "upstream", reason: "no_answer" });
    expect(judge("etherscan", { status: 502, body: null }).class).toBe("network");
  });
});
