import { Redis } from "ioredis";

/** Counts what a Redis runs, the commands within scripts too, and the counting not. */
export async function commandsOf(port: number): Promise<{ count(): Promise<number>; close(): void }> {
  const redis = new Redis(port, { lazyConnect: true, enableReadyCheck: false });
  await redis.connect();
  let own = 0;
  return {
    async count() {
      const text = await redis.info("commandstats");
      const calls = [...text.matchAll(/:calls=(\d+)/g)].reduce((sum, [, number]) => sum + Number(number), 0);
      return calls - own++;
    },
    close: () => redis.disconnect(),
  };
}
