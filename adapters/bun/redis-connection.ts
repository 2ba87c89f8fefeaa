import type { RedisConnection } from "../redis/index.ts";
import type { BunRedis, BunRedisOptions, BunRuntime } from "./runtime.ts";

/** So long the first exchange waits for the first connection. */
const FIRST_WITHIN_MS = 1_000;
/** A client that Bun has given up is replaced this often at most. */
const RENEW_EVERY_MS = 1_000;
const OPTIONS: BunRedisOptions = {
  // An exchange that waits for a connection would be made long after its answer was of use.
  enableOfflineQueue: false,
  connectionTimeout: 5_000,
  maxRetries: 1_000_000,
};

export interface LastingConnection extends RedisConnection {
  /** Resolves to what is wrong with the first connection, or to undefined. */
  readonly first: Promise<string | undefined>;
  close(): void;
}

/**
 * A connection by Bun's client that comes back whenever the server does: Bun itself gives up for good once a server has
 * turned it away, as one does that is just being set up. Throws for a URL that is none of Redis'.
 */
export function connectRedis({ bun }: BunRuntime, url: string): LastingConnection {
  let client: BunRedis = new bun.RedisClient(url, OPTIONS);
  let renewedAt = performance.now();
  let isClosed = false;
  let timer: ReturnType<typeof setTimeout>;
  const tooLate = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve("no connection so far"), FIRST_WITHIN_MS);
  });
  const connected = client.connect().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  const first = Promise.race([connected, tooLate]).finally(() => clearTimeout(timer));
  const renew = (): void => {
    const now = performance.now();
    if (isClosed || now - renewedAt < RENEW_EVERY_MS) return;
    renewedAt = now;
    client.close();
    client = new bun.RedisClient(url, OPTIONS);
    client.connect().catch(() => {});
  };
  return {
    first,
    async send(command, args) {
      await first;
      try {
        return await client.send(command, args);
      } catch (error) {
        if (error instanceof Error && /has failed|reconnection attempts/.test(error.message)) renew();
        throw error;
      }
    },
    close() {
      isClosed = true;
      client.close();
    },
  };
}
