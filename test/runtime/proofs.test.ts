import { DatabaseSync } from "node:sqlite";
import { Redis as Upstash } from "@upstash/redis";
import { Redis } from "ioredis";
import { EdgeRuntime } from "edge-runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RedisServer, startRedis } from "../fixtures/redis-server.ts";
import { noteOfRun } from "../fixtures/run-notes.ts";
import { startUpstash } from "../fixtures/upstash-server.ts";
import { startWorkerd } from "../fixtures/workerd.ts";
import { readText } from "../package/repository.ts";

const versionOf = (name: string): string =>
  (JSON.parse(readText(`node_modules/${name}/package.json`)) as { version: string }).version;

/** Each runtime that tests run on says itself what it is; `npm test` fails when one of its table has not. */
describe("runtimes", () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  it("Node", () => {
    expect(process.versions.node).toMatch(/^2[4-9]\./);
    noteOfRun({ runtime: { name: "Node", version: process.versions.node } });
  });

  it("SQLite", () => {
    const row = new DatabaseSync(":memory:").prepare("SELECT sqlite_version() AS version").get();
    expect(row?.["version"]).toMatch(/^3\./);
    noteOfRun({ runtime: { name: "SQLite", version: String(row?.["version"]) } });
  });

  it("workerd", async () => {
    const script = "export default { fetch: () => new Response(navigator.userAgent) };";
    const workerd = await startWorkerd({ script });
    const told = await (await fetch(workerd.urls[0] ?? "")).text();
    await workerd.stop();
    expect(told).toBe("Cloudflare-Workers");
    noteOfRun({ runtime: { name: "workerd", version: versionOf("workerd") } });
  });

  it("edge-runtime", () => {
    const told: unknown = new EdgeRuntime().evaluate("EdgeRuntime");
    expect(told).toBe("edge-runtime");
    noteOfRun({ runtime: { name: "edge-runtime", version: versionOf("edge-runtime") } });
  });

  it("Redis", async () => {
    const client = new Redis(redis.port);
    const version = /redis_version:(\S+)/.exec(await client.info("server"))?.[1] ?? "";
    client.disconnect();
    expect(Number(version.split(".")[0])).toBeGreaterThanOrEqual(5);
    noteOfRun({ runtime: { name: "Redis", version } });
  });

  it("Upstash's protocol over it", async () => {
    const server = await startUpstash({ redis: redis.port, token: "proof" });
    const told = await new Upstash({ url: server.url, token: "proof" }).ping();
    await server.close();
    expect(told).toBe("PONG");
    noteOfRun({ runtime: { name: "Upstash REST", version: `@upstash/redis ${versionOf("@upstash/redis")}` } });
  });
});
