import { memoryPlatform } from "../../../adapters/memory/index.ts";
import type { Strategy } from "../../../src/engine/strategy.ts";
import { createSluice } from "../../../src/sluice.ts";
import { etherscan } from "../../../src/upstreams/etherscan/index.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Transport } from "../../../src/ports/transport.ts";

/** One call of the load; resolves whether it was answered. */
export type Arm = (address: string) => Promise<boolean>;

export interface Load {
  readonly clock: Clock;
  readonly perSecond: number;
  readonly ms: number;
}

export interface Outcome {
  readonly calls: number;
  readonly failed: number;
  /** Milliseconds from a call's arrival to its answer, ascending; failed calls included. */
  readonly waits: readonly number[];
}

const ADDRESS = "0x00000000000000000000000000000000000000";

/** Offers calls at random (Poisson) instants, never waiting for answers, and measures each. */
export async function offer(arm: Arm, { clock, perSecond, ms }: Load): Promise<Outcome> {
  const end = clock.now() + ms;
  const waits: number[] = [];
  const open = new Set<Promise<void>>();
  let failed = 0;
  let calls = 0;
  await new Promise<void>((resolve) => {
    const next = () => {
      if (clock.now() >= end) {
        resolve();
        return;
      }
      const start = clock.now();
      const address = ADDRESS + (16 + (calls++ % 200)).toString(16);
      const call = arm(address)
        .catch(() => false)
        .then((answered) => {
          if (!answered) failed++;
          waits.push(clock.now() - start);
          open.delete(call);
        });
      open.add(call);
      clock.after((-Math.log(1 - clock.random()) * 1_000) / perSecond, next);
    };
    next();
  });
  await Promise.all(open);
  return { calls, failed, waits: waits.sort((a, b) => a - b) };
}

export interface Pool {
  readonly clock: Clock;
  readonly keys: readonly string[];
  readonly baseUrl: string;
  readonly transport: Transport;
}

/** Our own road in process, with the given strategy. */
export function sluiceArm(
  { clock, keys, baseUrl, transport }: Pool,
  strategy?: Strategy,
): { arm: Arm; close(): Promise<void> } {
  const sluice = createSluice(
    { upstreams: { etherscan: etherscan({ keys, baseUrls: baseUrl, strategy }) } },
    memoryPlatform({ clock, transport }),
  );
  const upstream = sluice.upstream("etherscan");
  return {
    arm: async (address) => isAnswer(await upstream.call("account", "balance", { address })),
    close: () => sluice.close(),
  };
}

/** What most do: each call on the next key, no admission, no replay. */
export function roundRobinArm({ keys, baseUrl, transport }: Pool): Arm {
  let turn = 0;
  return async (address) => {
    const key = keys[turn++ % keys.length] ?? "";
    const response = await transport(
      new Request(urlOf(baseUrl, key, { module: "account", action: "balance", address })),
    );
    return isAnswer(await response.json());
  };
}

/**
 * Knows every key's sickness at every instant, and uses the same admission, cooldowns and replays as we do: the least
 * refusals that any chooser could have.
 */
export function omniscient(sickness: (position: number) => number): Strategy {
  return {
    name: "omniscient",
    penaltyMs: (target) => sickness(target.position) * 3_000,
    rank: (_target, state) => state?.lastAt ?? 0,
  };
}

export function urlOf(baseUrl: string, key: string, params: Readonly<Record<string, string>>): string {
  return `${baseUrl}?${new URLSearchParams({ chainid: "1", ...params, apikey: key }).toString()}`;
}

export function isAnswer(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "status" in answer && answer.status === "1";
}

export function quantile(ascending: readonly number[], q: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(q * ascending.length))] ?? Number.NaN;
}
