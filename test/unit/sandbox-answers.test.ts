import { expect, test } from "vitest";
import { createFakeClock } from "../fixtures/fake-clock.ts";
import { type Sandbox, type SandboxOptions, createSandbox, sandboxKeys } from "../fixtures/sandbox-etherscan.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

const NOON = Date.UTC(2026, 0, 15, 12);
const [FREE = "", PAID = ""] = sandboxKeys(2);
registerSecrets(FREE, PAID);
const ADDRESS = `0x${"ab".repeat(20)}`;
const EMPTY = `0x${"a0".repeat(20)}`;
const UNVERIFIED = `0x${"af".repeat(20)}`;
const HASH = `0x${"12".repeat(32)}`;

function createLavish(options: Partial<SandboxOptions> = {}): Sandbox {
  const clock = createFakeClock({ start: NOON });
  const keys = [
    { key: FREE, perSecond: 1000 },
    { key: PAID, perSecond: 1000, paid: true },
  ];
  return createSandbox({ clock, keys, latency: () => 0, ...options });
}

async function bodyOf(sandbox: Sandbox, query: string, path = "/v2/api", key = FREE): Promise<string> {
  const answer = await sandbox.fetch(new Request(`https://sandbox.test${path}?${query}&apikey=${key}`));
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
  return answer.text();
}

const notOk = (words: string): string => `{"status":"0","message":"NOTOK","result":"${words}"}`;

/** The provider's own bodies, letter for letter, as far as they do not depend on the chain's state. */
test.each([
  ["bad address", `account&action=balance&address=0x12`, notOk("Error! Invalid address format")],
  ["no address", `account&action=txlist`, notOk("Error! Invalid address format")],
  ["unknown action", `account&action=nonsense`, notOk("Error! Missing Or invalid Action name")],
  ["an action that only objects have", `account&action=constructor`, notOk("Error! Missing Or invalid Action name")],
  ["unknown module", `nonsense&action=balance`, notOk("Error! Missing Or invalid Module name")],
  [
    "no transactions",
    `account&action=txlist&address=${EMPTY}`,
    '{"status":"0","message":"No transactions found","result":[]}',
  ],
  [
    "too wide a window",
    `account&action=txlist&address=${ADDRESS}&page=11&offset=1000`,
    '{"status":"0","message":"Result window is too large, PageNo x Offset size must be less than or equal to 10000","result":null}',
  ],
  ["no logs", `logs&action=getLogs`, '{"status":"0","message":"No records found","result":[]}'],
  ["not verified", `contract&action=getabi&address=${UNVERIFIED}`, notOk("Contract source code not verified")],
  ["countdown over", `block&action=getblockcountdown`, notOk("Error! Block number already pass")],
  [
    "pro endpoint",
    `stats&action=dailytx`,
    notOk("Sorry, it looks like you are trying to access an API Pro endpoint. Contact us to upgrade to API Pro."),
  ],
  [
    "unknown transaction",
    `proxy&action=eth_getTransactionByHash&txhash=${HASH}`,
    '{"jsonrpc":"2.0","id":1,"result":null}',
  ],
  [
    "block number",
    `proxy&action=eth_blockNumber`,
    `{"jsonrpc":"2.0","id":1,"result":"0x${(NOON / 12_000).toString(16)}"}`,
  ],
  [
    "quota",
    `getapilimit&action=getapilimit`,
    '{"status":"1","message":"OK","result":{"creditsUsed":1,"creditsAvailable":99999,"creditLimit":100000,' +
      '"limitInterval":"daily","intervalExpiryTimespan":"12:00:00"}}',
  ],
])("%s", async (_name, query, body) => {
  expect(await bodyOf(createLavish(), `chainid=1&module=${query}`)).toBe(body);
});

test("v2 wants a chain that it knows and that the key's plan covers", async () => {
  const sandbox = createLavish();
  const query = `module=account&action=balance&address=${ADDRESS}`;
  const missing =
    "Missing or unsupported chainid parameter (required for v2 api), please see " +
    "https://api.etherscan.io/v2/chainlist for the list of supported chainids";
  for (const chain of ["", "chainid=&", "chainid=999999&", "chainid=one&"]) {
    expect(await bodyOf(sandbox, chain + query)).toBe(notOk(missing));
  }
  expect(await bodyOf(sandbox, `chainid=137&${query}`)).toContain('"message":"OK"');
  expect(await bodyOf(sandbox, `chainid=8453&${query}`)).toMatch(
    /^\{"status":"0","message":"NOTOK","result":"Free API access is not supported for this chain\./,
  );
  expect(await bodyOf(sandbox, `chainid=8453&${query}`, "/v2/api", PAID)).toContain('"message":"OK"');
  expect(await bodyOf(sandbox, `chainid=1&module=stats&action=dailytx`, "/v2/api", PAID)).toContain('"message":"OK"');
  expect(await bodyOf(createLavish({ chains: [31337] }), `chainid=31337&${query}`)).toContain('"message":"OK"');
});

test("the same question gets the same bytes, and another address another balance", async () => {
  const query = (address: string): string => `chainid=1&module=account&action=balance&address=${address}`;
  const first = await bodyOf(createLavish(), query(ADDRESS));
  expect(first).toMatch(/^\{"status":"1","message":"OK","result":"[1-9]\d{10,19}"\}$/);
  expect(await bodyOf(createLavish(), query(ADDRESS.toUpperCase().replace("0X", "0x")))).toBe(first);
  expect(await bodyOf(createLavish(), query(UNVERIFIED))).not.toBe(first);
  const list = `chainid=1&module=account&action=txlist&address=${ADDRESS}`;
  expect(await bodyOf(createLavish(), list)).toBe(await bodyOf(createLavish(), list));
  expect(JSON.parse(await bodyOf(createLavish(), list))).toMatchObject({ result: [{ from: ADDRESS }, {}] });
});

test("a source code's bytes are JSON, but no printer of JSON writes them so", async () => {
  const query = `chainid=1&module=contract&action=getsourcecode&address=${ADDRESS}`;
  const body = await bodyOf(createLavish(), query);
  expect(JSON.parse(body)).toMatchObject({
    status: "1",
    message: "OK",
    result: [{ ContractName: "Sandb\u00f6x\u00a0" }],
  });
  expect(JSON.stringify(JSON.parse(body))).not.toBe(body);
  expect(body).toMatch(/\t.*\r\n.*\u{1F680}\u2028.*\r\n\n$/su);
  expect(await bodyOf(createLavish(), query.replace(ADDRESS, UNVERIFIED))).toContain('"ABI":"Contract source code not');
});

test("a raw transaction goes by form, with the key in body or query, and is known the second time", async () => {
  const sandbox = createLavish();
  const send = (form: Record<string, string>, key = ""): Promise<string> => {
    const body = new URLSearchParams({ module: "proxy", action: "eth_sendRawTransaction", ...form });
    const url = `https://sandbox.test/v2/api?chainid=1${key}`;
    return sandbox.fetch(new Request(url, { method: "POST", body })).then((answer) => answer.text());
  };
  expect(await send({ hex: "0xf86b01", apikey: FREE })).toMatch(
    /^\{"jsonrpc":"2\.0","id":1,"result":"0x[0-9a-f]{64}"\}$/,
  );
  const known = '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"already known"}}';
  expect(await send({ hex: "0xf86b01" }, `&apikey=${FREE}`)).toBe(known);
  expect(await send({ hex: "nonsense" }, `&apikey=${FREE}`)).toContain('"code":-32602');
  expect(await send({ hex: "0xf86b02" })).toBe(notOk("Missing/Invalid API Key"));
  expect(sandbox.requests[0]?.params).toEqual({
    chainid: "1",
    module: "proxy",
    action: "eth_sendRawTransaction",
    hex: "0xf86b01",
  });
});

test("the old interface wants no chain and advertises the new one when it refuses", async () => {
  const sandbox = createLavish({ keys: [{ key: FREE }], counting: "sliding" });
  const ask = (): Promise<string> => bodyOf(sandbox, `module=account&action=balance&address=${ADDRESS}`, "/api");
  for (let i = 0; i < 3; i++) expect(await ask()).toContain('"message":"OK"');
  const advert = "Please switch to API V2, for more info https://docs.etherscan.io/etherscan-v2/v2-quickstart";
  expect(await ask()).toBe(notOk(`Max calls per sec rate limit reached (3/sec). ${advert}`));
});

test("a clone orders and words things in its own way, and refuses with 429", async () => {
  const sandbox = createLavish({ keys: [{ key: FREE }], counting: "sliding", base: "blockscout" });
  expect(await bodyOf(sandbox, `module=account&action=txlist&address=${EMPTY}`, "/api")).toBe(
    '{"message":"No transactions found","result":[],"status":"0"}',
  );
  expect(await bodyOf(sandbox, `module=account&action=txlist&address=0x1`, "/api")).toBe(
    '{"message":"Invalid address format","result":null,"status":"0"}',
  );
  await bodyOf(sandbox, `module=account&action=balance&address=${ADDRESS}`, "/api");
  const refused = await sandbox.fetch(new Request(`https://sandbox.test/api?module=account&apikey=${FREE}`));
  expect([refused.status, refused.headers.get("x-ratelimit-reset")]).toEqual([429, "1000"]);
  expect(await refused.json()).toMatchObject({
    message: expect.stringMatching(/^Too many requests/) as string,
    status: "0",
  });
  expect((await sandbox.fetch(new Request("https://sandbox.test/v2/api"))).status).toBe(404);
});

test("what is no call is not counted", async () => {
  const sandbox = createLavish();
  const status = async (path: string, method = "GET"): Promise<number> =>
    (await sandbox.fetch(new Request(`https://sandbox.test${path}`, { method }))).status;
  expect(await status("/")).toBe(404);
  expect(await status(`/v3/api?apikey=${FREE}`)).toBe(404);
  expect(await status(`/v2/api?apikey=${FREE}`, "DELETE")).toBe(405);
  expect(await status(`/v2/api?apikey=${FREE}&address=${"x".repeat(9000)}`)).toBe(414);
  expect(sandbox.counts().total.received).toBe(0);
});
