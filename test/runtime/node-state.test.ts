import { mkdtempSync, rmSync } from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { UpstreamStats } from "../../src/index.ts";
import { type GatewayProcess, startGateway } from "../fixtures/gateway-process.ts";
import { startLoad } from "../fixtures/load.ts";
import type { SandboxOptions } from "../fixtures/sandbox-etherscan.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";
import { type StallWatch, watchStalls } from "../fixtures/stall-watch.ts";

/** What three calls a second come to at safe spacing (spec 5): 3 · 1000 / (1000 + 75). */
const PACE = 2.79;
const JITTER_MS = 75;
const LOAD_MS = 6_000;

let calls = 0;

function callOf(gateway: GatewayProcess): string {
  const address = `0x${(++calls).toString(16).padStart(40, "0")}`;
  return `${gateway.url}/etherscan/v2/api?chainid=1&module=account&action=balance&address=${address}`;
}

async function statsOf({ url }: GatewayProcess): Promise<UpstreamStats> {
  const { upstreams } = (await (await fetch(`${url}/-/stats`)).json()) as { upstreams: readonly [UpstreamStats] };
  return upstreams[0];
}

interface Shared {
  readonly pool: SandboxPool;
  /** Starts one more gateway on the one state file. */
  readonly start: (env?: Readonly<Record<string, string>>) => Promise<GatewayProcess>;
}

async function openShared(keys: number, options: Partial<SandboxOptions> = {}): Promise<Shared> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-state-"));
  // A strict log: every window is looked at, wherever it begins.
  const pool = await startPool(keys, { counting: "sliding", logSize: 5_000, ...options });
  const running: GatewayProcess[] = [];
  favour(process.pid);
  onTestFinished(async () => {
    await Promise.all(running.map((gateway) => gateway.stop()));
    await pool.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    pool,
    async start(env = {}) {
      const gateway = await startGateway({ ...pool.env, SLUICE_STATE: join(folder, "state.db"), ...env });
      favour(gateway.pid);
      running.push(gateway);
      return gateway;
    },
  };
}

/** Lets a process go before whatever else runs on the machine, where that is allowed. */
function favour(pid: number): void {
  try {
    setPriority(pid, -15);
  } catch {
    // Then it takes its turn, and a run may have to be made again.
  }
}

/** The first calls of a process take several times as long as all later ones: the count is of a gateway in full swing. */
async function warmUp(gateway: GatewayProcess): Promise<void> {
  for (let call = 0; call < 8; call++) await (await fetch(callOf(gateway))).text();
  await sleep(1_000);
}

async function attemptsOf(gateways: readonly GatewayProcess[]): Promise<number> {
  const stats = await Promise.all(gateways.map(statsOf));
  return stats.reduce((sum, { calls: { attempts } }) => sum + attempts, 0);
}

/** Calls beyond the ceilings in any window of a second, by the upstream's own count: what must never be. */
function excessOf({ sandbox }: SandboxPool, ceilings: readonly number[]): unknown {
  const { accounts, total } = sandbox.counts();
  const over = Object.values(accounts).filter(({ maxSliding }, place) => maxSliding > (ceilings[place] ?? 0));
  return over.length === 0 && total.refused === 0 ? null : { over, refused: total.refused };
}

/**
 * Makes a run and looks at its excess. The spacing forgives delays that vary by up to `jitterMs`: a run in which the
 * machine itself held something up for longer says nothing against it, and is made again.
 */
async function expectNoExcess(
  run: (watch: (urls: () => readonly string[]) => void) => Promise<unknown>,
): Promise<void> {
  for (let left = 2; ; left--) {
    let stalls: StallWatch | undefined;
    const excess = await run((urls) => void (stalls = watchStalls(urls)));
    await stalls?.stop();
    if (excess !== null && left > 0 && (stalls?.worstMs ?? 0) > JITTER_MS) continue;
    expect(excess).toBeNull();
    return;
  }
}

describe("two gateways on one state file", () => {
  test("never exceed a ceiling together, and leave little of it unused", { timeout: 40_000 }, async () => {
    await expectNoExcess(async (watch) => {
      const { pool, start } = await openShared(9);
      const pair = await Promise.all([start(), start()]);
      await Promise.all(pair.map(warmUp));
      pool.sandbox.resetCounts();
      const earlier = await attemptsOf(pair);
      watch(() => pair.map(({ url }) => url));
      const loads = pair.map((gateway) => startLoad({ width: 20, next: () => callOf(gateway) }));
      await sleep(LOAD_MS);
      const { received } = pool.sandbox.counts().total;
      await Promise.all(loads.map((load) => load.stop()));

      // On a busy machine slots are forfeited because they are late.
      expect(received).toBeGreaterThan(0.5 * 9 * PACE * (LOAD_MS / 1_000));
      for (const load of loads) {
        expect([...load.statuses.keys()]).toEqual([200]);
        // Neither starves the other.
        expect(load.statuses.get(200)).toBeGreaterThan(0.25 * received);
      }
      expect((await attemptsOf(pair)) - earlier).toBe(pool.sandbox.counts().total.received);
      return excessOf(
        pool,
        Array.from({ length: 9 }, () => 3),
      );
    });
  });

  test("what one of them learns of a key, the other knows by its next call", async () => {
    const { pool, start } = await openShared(4);
    const [a, b] = await Promise.all([start(), start()]);
    for (const gateway of [a, b]) expect((await fetch(callOf(gateway))).status).toBe(200);
    pool.change(1, { perDay: 0 });
    pool.change(2, { invalid: true });
    pool.change(3, { perSecond: 1 });
    pool.sandbox.resetCounts();
    // Enough at once to go to every key, and beyond the third's new ceiling.
    const answers = await Promise.all(Array.from({ length: 9 }, () => fetch(callOf(a))));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    const learnt = (await statsOf(a)).targets;
    expect(learnt.map(({ state }) => state).slice(0, 2)).toEqual(["parked", "disabled"]);
    expect(learnt[2]).toMatchObject({ limit: 1, limitSource: "observed" });
    const before = pool.sandbox.counts();

    expect((await fetch(callOf(b))).status).toBe(200);
    const told = (await statsOf(b)).targets;
    for (const place of [0, 1]) {
      const { state, why, limit, today, lastError } = learnt[place] ?? {};
      expect(told[place]).toMatchObject({ state, why, limit, today, lastError });
    }
    expect(told[2]).toMatchObject({ limit: 1, limitSource: "observed" });

    for (let call = 0; call < 4; call++) expect((await fetch(callOf(b))).status).toBe(200);
    const after = pool.sandbox.counts();
    for (const place of [0, 1]) expect(after.keys[place]?.received).toBe(before.keys[place]?.received);
    expect(after.total.refused).toBe(before.total.refused);
  });
});

describe("kill -9 in mid-load", () => {
  test(
    "parked, disabled, learnt and counted state is as before, and no burst follows",
    { timeout: 40_000 },
    async () => {
      await expectNoExcess(async (watch) => {
        const { pool, start } = await openShared(6);
        pool.change(1, { invalid: true });
        pool.change(2, { perDay: 2 });
        pool.change(3, { perSecond: 2 });
        let gateway = await start();
        const load = startLoad({ width: 20, next: () => callOf(gateway) });
        await expect
          .poll(async () => (await statsOf(gateway)).targets.slice(0, 3).map(({ state, limit }) => [state, limit]), {
            timeout: 8_000,
          })
          .toEqual([
            ["disabled", 3],
            ["parked", 3],
            [expect.stringMatching(/ready|cooling/), 2],
          ]);
        // The window in which the third key was refused must be over.
        await sleep(1_500);
        pool.sandbox.resetCounts();
        watch(() => [gateway.url]);
        await sleep(1_000);
        const before = (await statsOf(gateway)).targets;
        expect((await gateway.kill()).signal).toBe("SIGKILL");
        const { received } = pool.sandbox.counts().total;
        gateway = await start();
        const after = (await statsOf(gateway)).targets;
        await sleep(1_500);
        await load.stop();

        expect(new Set(load.statuses.keys())).toEqual(new Set([0, 200]));
        expect(after).toHaveLength(before.length);
        for (const [place, was] of before.entries()) {
          const target = after[place];
          const { id, bucket, limit, limitSource, lastError } = was;
          expect(target).toMatchObject({ id, bucket, limit, limitSource, lastError });
          if (place < 2) expect([target?.state, target?.why]).toEqual([was.state, was.why]);
          // Every slot is on the books before its call leaves.
          expect(target?.today).toBeGreaterThanOrEqual(was.today);
          expect(target?.today).toBeLessThan(was.today + 20);
          // Good news may be 50 ms late, in which a key at this pace has one answer at most.
          expect(target?.ok).toBeGreaterThanOrEqual(was.ok - 1);
        }
        expect(Math.abs((after[1]?.cooldownMs ?? 0) - (before[1]?.cooldownMs ?? 0))).toBeLessThan(5_000);
        const across = pool.sandbox.counts();
        expect(across.total.received).toBeGreaterThan(received);
        expect(across.keys.slice(0, 2).map((key) => key.received)).toEqual([0, 0]);
        return excessOf(pool, [0, 0, 2, 3, 3, 3]);
      });
    },
  );

  test("counts no call less than the upstream does", async () => {
    const { pool, start } = await openShared(3);
    const gateway = await start();
    const load = startLoad({ width: 10, next: () => callOf(gateway) });
    await sleep(1_200);
    await gateway.kill();
    await load.stop();
    // What had left when it died may still be counted.
    await sleep(100);
    const again = await start();
    const ours = (await statsOf(again)).targets.map(({ today }) => today);
    for (const [place, { received }] of pool.sandbox.counts().keys.entries()) {
      expect(ours[place]).toBeGreaterThanOrEqual(received);
      expect(ours[place]).toBeLessThanOrEqual(received + 12);
    }
  });
});
