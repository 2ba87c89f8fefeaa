/** What the adapter uses of Bun's globals. */
export interface BunRuntime {
  readonly bun: BunGlobal;
  readonly process: BunProcess;
}

interface BunGlobal {
  readonly version: string;
  readonly RedisClient: new (url: string, options: BunRedisOptions) => BunRedis;
  /** Older ones have none that runs in the process. */
  cron?(
    schedule: string,
    run: () => Promise<void>,
    options: { readonly tz: string },
  ): { unref(): unknown } | Promise<unknown>;
}

interface BunProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stderr: { readonly isTTY?: boolean };
  on(signal: "SIGINT" | "SIGTERM", run: () => void): unknown;
  exit(code: number): void;
}

export interface BunRedisOptions {
  /** Whether commands wait for a connection that is away (true). */
  readonly enableOfflineQueue?: boolean;
  readonly connectionTimeout?: number;
  readonly maxRetries?: number;
}

/** Bun's own client of Redis. */
export interface BunRedis {
  readonly connected: boolean;
  connect(): Promise<unknown>;
  send(command: string, args: string[]): Promise<unknown>;
  close(): void;
}

/** Undefined elsewhere than on Bun. */
export function findRuntime(): BunRuntime | undefined {
  const { Bun: bun, process } = globalThis as { Bun?: BunGlobal; process?: unknown };
  return bun === undefined ? undefined : { bun, process: process as BunProcess };
}
