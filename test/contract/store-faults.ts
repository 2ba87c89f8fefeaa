import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SluiceEvent } from "../../src/ports/events.ts";
import { type SandboxPool, startPool } from "../fixtures/sandbox-pool.ts";

/** `down`: refuses every exchange; `slow`: answers three seconds late; `garbage`: answers at once, and nonsense. */
export type StoreFault = "down" | "slow" | "garbage";

/** Isolates that share one real store, which can be made to fail. */
export interface FaultyFleet {
  /** Each a gateway of its own: a request for a path, the caller let in. */
  readonly isolates: readonly ((path: string) => Promise<Response>)[];
  /** All events so far, of all isolates. */
  events(): readonly SluiceEvent[];
  fault(fault: StoreFault | null): Promise<void>;
  close(): Promise<void>;
}

export type OpenFleet = (env: Readonly<Record<string, string>>) => Promise<FaultyFleet>;

const KEYS = 3;
const PER_SECOND = 3;
/** While the store is away the fleet spends half of what the keys carry: 4.5 a second. This many are asked for. */
const MEANWHILE_PER_SECOND = 3;

let calls = 0;
const balance = (): string =>
  `/etherscan/v2/api?chainid=1&module=account&action=balance&address=0x${(++calls).toString(16).padStart(40, "0")}`;

/** What a fleet does while its store fails, and when it is back; on the real store, in real time. */
export function storeFaults(name: string, open: OpenFleet, faults: readonly StoreFault[]): void {
  // They wait more than they work.
  describe.concurrent.each(faults)(`${name} is %s`, (fault) => {
    let pool: SandboxPool;
    let fleet: FaultyFleet;
    beforeAll(async () => {
      pool = await startPool(KEYS);
      fleet = await open(pool.env);
    }, 60_000);
    afterAll(async () => {
      await fleet.close();
      await pool.close();
    });

    /** Calls at an even pace, by each isolate in turn; how many were answered well. */
    const call = (i: number): Promise<Response> => {
      const isolate = fleet.isolates[i % fleet.isolates.length];
      if (isolate === undefined) throw new Error("a fleet has isolates");
      return isolate(balance());
    };
    const load = async (perSecond: number, seconds: number): Promise<{ sent: number; served: number }> => {
      const answers: Promise<boolean>[] = [];
      for (let i = 0; i < perSecond * seconds; i++) {
        answers.push(call(i).then(isFine, () => false));
        await sleep(1_000 / perSecond);
      }
      const served = (await Promise.all(answers)).filter((fine) => fine).length;
      return { sent: answers.length, served };
    };
    const told = (type: SluiceEvent["type"]): number => fleet.events().filter((event) => event.type === type).length;

    it("goes on within the slice, says so once, and comes back to the full rate", async () => {
      const before = await load(6, 2);
      expect(before.served).toBe(before.sent);
      expect(told("ledger_down")).toBe(0);

      await fleet.fault(fault);
      const during = await load(MEANWHILE_PER_SECOND, 5);
      expect(during.served).toBe(during.sent);
      expect(told("ledger_down")).toBe(fleet.isolates.length);
      expect(told("ledger_up")).toBe(0);

      await fleet.fault(null);
      // An isolate asks again after one, two, four, eight seconds.
      const from = performance.now();
      while (told("ledger_up") < fleet.isolates.length && performance.now() - from < 12_000) await load(4, 1);
      expect(told("ledger_up")).toBe(fleet.isolates.length);
      expect(told("ledger_down")).toBe(fleet.isolates.length);

      // The windows in which the slices' calls still count end within a second.
      await sleep(1_500);
      const count = 4 * KEYS * PER_SECOND;
      const start = performance.now();
      const answers = await Promise.all(Array.from({ length: count }, (_, i) => call(i)));
      const seconds = (performance.now() - start) / 1_000;
      for (const answer of answers) expect(answer.status).toBe(200);
      // At half the rate it would be eight.
      expect(seconds).toBeLessThan(6.5);
      // f·M/M̂ − 1 is below zero: the outage itself admits nothing too many. A call that was granted before may meet one after.
      expect(pool.sandbox.counts().total.refused).toBeLessThanOrEqual(1);
    }, 60_000);
  });
}

async function isFine(response: Response): Promise<boolean> {
  const { status } = (await response.json()) as { status?: unknown };
  return response.status === 200 && status === "1";
}
