import { memoryPlatform } from "../../../adapters/memory/index.ts";
import type { Strategy } from "../../../src/engine/strategy.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Transport } from "../../../src/ports/transport.ts";
import { createSluice } from "../../../src/sluice.ts";
import { etherscan } from "../../../src/upstreams/etherscan/index.ts";
import type { Arm } from "./offer-load.ts";
import { type RefusedCall, watchLedger } from "./watch-ledger.ts";

export interface ArmPool {
  readonly clock: Clock;
  readonly keys: readonly string[];
  readonly baseUrl: string;
  readonly transport: Transport;
  /** Refused share of the key at this 1-based position, now: for the one arm that is told. */
  readonly sickness: (position: number) => number;
}

export interface RunningArm {
  readonly arm: Arm;
  /** Refused calls as the arm itself saw them, where it tells. */
  readonly refused?: readonly RefusedCall[];
  close(): Promise<void>;
}

/** A way of spending the nine keys. */
export interface Contestant {
  readonly name: string;
  /** Whether it takes its time from the global timers and clocks instead of the given clock. */
  readonly usesGlobals?: boolean;
  start(pool: ArmPool): RunningArm;
}

/** What a certain refusal is worth in waiting, as in our own strategy, so that both make the same bargain. */
const REFUSAL_WORTH_MS = 2_500;

/** What most do: each call on the next key, no admission, no replay. */
export const roundRobin: Contestant = {
  name: "round robin",
  start({ keys, baseUrl, transport }) {
    let turn = 0;
    return {
      arm: async (address) => {
        const key = keys[turn++ % keys.length] ?? "";
        const params = { module: "account", action: "balance", address };
        return isAnswer(await (await transport(new Request(urlOf(baseUrl, key, params)))).json());
      },
      close: () => Promise.resolve(),
    };
  },
};

/** Our own road in process, as a user gets it. */
export const sluice: Contestant = {
  name: "sluice",
  start: (pool) => startSluice(pool, undefined),
};

/**
 * Our own road, but with every key's true sickness at every instant: it needs no probes and learns nothing late.
 * Admission, cooldowns, replays and the bargain between waiting and refusals are the same.
 */
export const omniscient: Contestant = {
  name: "omniscient",
  start(pool) {
    return startSluice(pool, {
      name: "omniscient",
      penaltyMs: (target) => pool.sickness(target.position) * REFUSAL_WORTH_MS,
      rank: (_target, state) => state?.lastAt ?? 0,
    });
  },
};

function startSluice(pool: ArmPool, strategy: Strategy | undefined): RunningArm {
  const { clock, keys, baseUrl, transport } = pool;
  const definition = etherscan({ keys, baseUrls: baseUrl, strategy });
  const platform = memoryPlatform({ clock, transport });
  const { ledger, refused } = watchLedger(platform.ledger, definition.targets, { probes: strategy === undefined });
  const running = createSluice({ upstreams: { etherscan: definition } }, { ...platform, ledger });
  const upstream = running.upstream("etherscan");
  return {
    arm: async (address) => isAnswer(await upstream.call("account", "balance", { address })),
    refused,
    close: () => running.close(),
  };
}

export function urlOf(baseUrl: string, key: string, params: Readonly<Record<string, string>>): string {
  return `${baseUrl}?${new URLSearchParams({ chainid: "1", ...params, apikey: key }).toString()}`;
}

export function isAnswer(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "status" in answer && answer.status === "1";
}
