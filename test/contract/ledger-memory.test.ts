import { expect, it } from "vitest";
import { memoryLedger } from "../../src/ledger/memory-ledger.ts";
import type { ExchangeReply } from "../../src/ports/ledger.ts";
import { NOON, TERMS, wanting } from "../fixtures/pure-store.ts";
import { ledgerContract, type LedgerStore } from "./ledger.ts";

async function open(): Promise<LedgerStore> {
  let now = NOON;
  const ledger = memoryLedger(() => now);
  return {
    connect: async () => ledger,
    advance: async (ms) => void (now += ms),
    close: async () => undefined,
  };
}

ledgerContract("memory", open, { forgets: true });

it("tells a client what it missed though the record of changes reaches back less far", async () => {
  let now = NOON;
  const ledger = memoryLedger(() => now);
  const base = { terms: TERMS, settle: [], arrived: 0, leadMs: 0, skewMs: 0, dice: 0.5 };
  const call = async (sequence: number, target: string, since: number): Promise<ExchangeReply> => {
    now += 400;
    const want = [wanting(1, 1_500, { bucket: target, target })];
    return ledger.exchange("pool", { ...base, id: `a:${sequence}`, since, want });
  };
  for (let i = 1; i <= 10; i++) await call(i, `seldom-${i}`, 0);
  for (let i = 11; i <= 3_000; i++) {
    const { changes } = await call(i, `often-${i % 3}`, i - 1);
    expect(Object.keys(changes.targets)).toEqual([`often-${i % 3}`]);
  }
  for (let since = 0; since <= 10; since++) {
    const { changes } = await call(3_001 + since, "often-0", since);
    const missed = Array.from({ length: 10 - since }, (_, i) => `seldom-${since + 1 + i}`);
    expect(Object.keys(changes.targets)).toEqual(expect.arrayContaining(missed));
    expect(Object.keys(changes.buckets)).toEqual(expect.arrayContaining(missed));
  }
});
