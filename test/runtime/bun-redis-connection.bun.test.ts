import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import type { LastingConnection } from "../../adapters/bun/redis-connection.ts";
import { openBunRedis } from "../fixtures/bun-redis.ts";
import { type RedisServer, startRedis } from "../fixtures/redis-server.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

const PASSWORD = "bun-redis-password-4e5f6a7b";
registerSecrets(PASSWORD);

let server: RedisServer;
beforeEach(async () => {
  server = await startRedis();
});
afterEach(() => server.stop());

function open(url: string): LastingConnection {
  const connection = openBunRedis(url);
  onTestFinished(() => connection.close());
  return connection;
}

const ping = (connection: LastingConnection): Promise<unknown> => connection.send("PING", []).catch(String);

test("the first command waits for the connection", async () => {
  const connection = open(server.url);
  expect(await connection.send("PING", [])).toBe("PONG");
  expect(await connection.first).toBeUndefined();
});

test("without a server a command fails at once, and is served once there is one", async () => {
  await server.kill();
  const connection = open(server.url);
  expect(await connection.first).toMatch(/connect/i);
  const from = performance.now();
  expect(await ping(connection)).toMatch(/closed/);
  expect(performance.now() - from).toBeLessThan(100);
  await server.restart();
  await expect.poll(() => ping(connection), { timeout: 8_000 }).toBe("PONG");
});

test("a server that comes back is used again", async () => {
  const connection = open(server.url);
  expect(await ping(connection)).toBe("PONG");
  await server.kill();
  expect(await ping(connection)).not.toBe("PONG");
  await server.restart();
  await expect.poll(() => ping(connection), { timeout: 8_000 }).toBe("PONG");
});

test("a server that turned us away is asked again, which Bun alone would not do", async () => {
  const other = open(server.url);
  await other.send("CONFIG", ["SET", "requirepass", "another"]);
  const connection = open(server.url.replace("//", `//:${PASSWORD}@`));
  expect(await connection.first).toMatch(/connect/i);
  expect(await ping(connection)).not.toBe("PONG");
  await other.send("CONFIG", ["SET", "requirepass", PASSWORD]);
  await expect.poll(() => ping(connection), { timeout: 8_000 }).toBe("PONG");
});
