import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { upstashLedger } from "../../adapters/upstash/index.ts";
import type { ExchangeRequest } from "../../src/ports/ledger.ts";
import { TERMS } from "../fixtures/ledger-client.ts";
import { NOON } from "../fixtures/pure-store.ts";
import { type RedisServer, startRedis } from "../fixtures/redis-server.ts";
import { startUpstash, UPSTASH_FAULTS, type UpstashServer } from "../fixtures/upstash-server.ts";
import { ledgerContract } from "./ledger.ts";

const TOKEN = "upstash-token-of-the-ledger-contract";
const READ_ONLY = "upstash-read-only-token-of-the-ledger-contract";
let server: RedisServer;
let upstash: UpstashServer;
let stores = 0;

beforeAll(async () => {
  server = await startRedis({ persist: true });
  upstash = await startUpstash({ redis: server.port, token: TOKEN, readOnlyToken: READ_ONLY });
});
afterAll(async () => {
  await upstash.close();
  await server.stop();
});

ledgerContract("Upstash", async () => {
  const prefix = `store-${++stores}`;
  let now = NOON;
  return {
    connect: async () => upstashLedger({ url: upstash.url, token: TOKEN, prefix, now: () => now }),
    advance: async (ms) => void (now += ms),
    restart: async () => {
      await server.kill();
      await server.restart();
    },
    close: async () => {},
  };
});

describe("the Upstash ledger", () => {
  let sequence = 0;
  const look = (): ExchangeRequest => ({
    id: `a:${++sequence}`,
    terms: TERMS,
    settle: [],
    want: [],
    arrived: 0,
    since: 0,
    leadMs: 0,
    skewMs: 0,
    dice: 0.5,
  });
  const open = (token = TOKEN) => upstashLedger({ url: upstash.url, token, prefix: "faults" });

  it("makes one request of an exchange, two where the server has not seen the script", async () => {
    const ledger = open();
    await ledger.exchange("pool", look());
    const before = upstash.requests();
    for (let i = 0; i < 10; i++) await ledger.exchange("pool", look());
    expect(upstash.requests() - before).toBe(10);
    await server.kill();
    await server.restart();
    const version = async () => (await ledger.exchange("pool", look())).version;
    await expect.poll(version, { timeout: 10_000 }).toBeGreaterThan(10);
  });

  it("runs on the server's own clock", async () => {
    const { now } = await open().exchange("pool", look());
    expect(Math.abs(now - Date.now())).toBeLessThan(1_000);
  });

  it("names the variable when the token is wrong, or may only read; shows neither", async () => {
    const wrong = "a-token-that-nobody-ever-issued";
    await expect(open(wrong).exchange("pool", look())).rejects.toThrow(/UPSTASH_REDIS_REST_TOKEN/);
    await expect(open(wrong).exchange("pool", look())).rejects.not.toThrow(new RegExp(wrong));
    await expect(open(READ_ONLY).exchange("pool", look())).rejects.toThrow(/standard token, not the read-only one/);
  });

  it.each(["redis://name.upstash.io:6379", "name.upstash.io", "", "https://"])("refuses the URL %j", (url) => {
    expect(() => upstashLedger({ url, token: TOKEN })).toThrow(/UPSTASH_REDIS_REST_URL/);
  });

  it.each(Object.entries(UPSTASH_FAULTS))(
    "rejects at once, without the command, when the answer is %s",
    async (_, fault) => {
      const ledger = open();
      await ledger.exchange("pool", look());
      upstash.fault({ ...fault, times: 1 });
      const before = upstash.requests();
      const failure = await Promise.resolve(ledger.exchange("pool", look())).catch((error: unknown) => error as Error);
      expect(failure).toBeInstanceOf(Error);
      expect((failure as Error).message.length).toBeLessThan(300);
      expect((failure as Error).message).not.toContain(TOKEN);
      expect(upstash.requests() - before).toBe(1);
      await ledger.exchange("pool", look());
    },
  );
});
