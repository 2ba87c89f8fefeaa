import { describe, expect, expectTypeOf, onTestFinished, test } from "vitest";
import { nodePlatform, sqliteLedger } from "../../adapters/node/index.ts";
import {
  type CallResult,
  createSluice,
  etherscan,
  type Sluice,
  SluiceError,
  type SluiceEvent,
} from "../../src/index.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";

type Upstreams = { readonly etherscan: ReturnType<typeof etherscan> };

interface Opened {
  readonly sluice: Sluice<Upstreams>;
  readonly pool: SandboxPool;
  readonly events: SluiceEvent[];
}

/** README's gateway inside an application: no server, real sockets to the upstream, a real SQLite ledger. */
async function open(keys: number): Promise<Opened> {
  const pool = await startPool(keys);
  const events: SluiceEvent[] = [];
  const ledger = sqliteLedger({ path: ":memory:" });
  const sluice = createSluice(
    { upstreams: { etherscan: etherscan({ keys: pool.secrets, baseUrls: `${pool.url}/v2/api` }) } },
    nodePlatform({ ledger, events: { emit: (event) => events.push(event) }, report: console.error }),
  );
  onTestFinished(async () => {
    await sluice.close();
    await ledger.close?.();
    await pool.close();
  });
  return { sluice, pool, events };
}

const ADDRESS = `0x${"4".repeat(40)}`;

describe("in process", () => {
  test("calls by module, action and parameters, and gives the answer's JSON", async () => {
    const { sluice, pool } = await open(2);
    const upstream = sluice.upstream("etherscan");
    const answer = await upstream.call("account", "balance", { address: ADDRESS, tag: "latest" });
    expect(JSON.stringify(answer)).toMatch(/^\{"status":"1","message":"OK","result":"\d+"\}$/);
    expect(pool.sandbox.requests[0]?.params).toEqual({
      chainid: "1",
      module: "account",
      action: "balance",
      address: ADDRESS,
      tag: "latest",
    });
    const block = await upstream.call("proxy", "eth_blockNumber", { chainid: 137 });
    expect(JSON.stringify(block)).toMatch(/^\{"jsonrpc":"2\.0","id":1,"result":"0x[0-9a-f]+"\}$/);
    const source = await upstream.call("contract", "getsourcecode", { address: ADDRESS });
    expect(source).toMatchObject({ result: [{ ContractName: "Sandb\u00f6x\u00a0" }] });
    expect(sluice.stats()[0]?.calls).toEqual({ ok: 3, failed: 0, attempts: 3, refused: 0 });
  });

  test("long parameters go as a form", async () => {
    const { sluice, pool } = await open(1);
    await sluice.upstream("etherscan").call("proxy", "eth_sendRawTransaction", { hex: `0x${"ab".repeat(5_000)}` });
    expect(pool.sandbox.requests[0]).toMatchObject({ method: "POST", outcome: "ok" });
  });

  test("a pool that cannot serve is one typed error", async () => {
    const { sluice, pool, events } = await open(2);
    for (const position of [1, 2]) pool.change(position, { invalid: true });
    const error = await sluice.upstream("etherscan").call("account", "balance", { address: ADDRESS }).catch(String);
    expect(error).toMatch(/No target took the call in 2 tries \(key_invalid\)/);
    const next: unknown = await sluice
      .upstream("etherscan")
      .call("account", "balance", { address: ADDRESS })
      .catch((cause: unknown) => cause);
    expect(next).toBeInstanceOf(SluiceError);
    expect(next).toMatchObject({ code: "pool_exhausted", status: 503, retryAfterMs: undefined });
    expect(events.map(({ type }) => type)).toEqual([
      "target_disabled",
      "target_disabled",
      "call_failed",
      "call_failed",
    ]);
  });

  test("a signal takes a waiting call out of the queue", async () => {
    const { sluice, pool } = await open(1);
    const upstream = sluice.upstream("etherscan");
    const leaving = new AbortController();
    const first = upstream.call("account", "balance", { address: ADDRESS });
    const second = upstream.call("account", "balance", { address: ADDRESS }, { signal: leaving.signal });
    leaving.abort();
    await expect(second).rejects.toMatchObject({ code: "client_gone" });
    await first;
    expect(pool.sandbox.counts().total.received).toBe(1);
  });

  test("after close nothing is sent any more", async () => {
    const { sluice, pool } = await open(1);
    await sluice.close();
    await sluice.close();
    await expect(sluice.upstream("etherscan").call("account", "balance", { address: ADDRESS })).rejects.toMatchObject({
      code: "closed",
    });
    expect(pool.sandbox.counts().total.received).toBe(0);
  });

  test("is typed by the configuration", async () => {
    const { sluice } = await open(1);
    const upstream = sluice.upstream("etherscan");
    expectTypeOf(upstream.call).returns.toEqualTypeOf<Promise<unknown>>();
    expectTypeOf(upstream.call).parameter(0).toEqualTypeOf<string>();
    expectTypeOf(upstream.send).returns.toEqualTypeOf<Promise<CallResult>>();
    // @ts-expect-error: there is no such upstream
    expect(() => sluice.upstream("ethereum")).toThrow('There is no upstream "ethereum"; configured are: etherscan.');
  });
});
