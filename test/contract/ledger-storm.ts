import type { ExchangeReply, ExchangeRequest, Ledger } from "../../src/ports/ledger.ts";
import { LedgerClient } from "../fixtures/ledger-client.ts";
import type { Delivered } from "../fixtures/ledger-replay.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";

export interface StormOptions {
  readonly seed: number;
  /** Connections to one store, as of different processes. */
  readonly ledgers: readonly Ledger[];
  readonly pool: string;
  readonly advance: (ms: number) => Promise<void>;
  readonly rounds: number;
}

/** Two to a bucket. */
const TARGETS: readonly string[] = Array.from({ length: 8 }, (_, i) => `target-${i}`);
const CLIENTS = 64;

export interface Storm {
  readonly clients: readonly LedgerClient[];
  readonly delivered: readonly Delivered[];
}

/**
 * Sixty-four isolates at once do random things to one pool through a network that doubles requests, loses answers and
 * delivers old requests late.
 */
export async function storm({ seed, ledgers, pool, advance, rounds }: StormOptions): Promise<Storm> {
  const random = seededRandom(seed);
  const clients = Array.from({ length: CLIENTS }, (_, i) => {
    return new LedgerClient({ name: `client-${i}`, random: seededRandom(seed * 1_000 + i), targets: TARGETS });
  });
  const delivered: Delivered[] = [];
  let straying: ExchangeRequest[] = [];
  const send = async (request: ExchangeRequest, by: number): Promise<ExchangeReply> => {
    const reply = await (ledgers[by % ledgers.length] as Ledger).exchange(pool, request);
    delivered.push({ request, reply });
    return reply;
  };

  for (let round = 0; round < rounds; round++) {
    await advance(Math.floor(random() * 400));
    const active = round % 4 === 0 ? clients : clients.filter(() => random() < 0.2);
    const late = straying.filter(() => random() < 0.5);
    straying = straying.filter((request) => !late.includes(request));
    const calls = active.map(async (client, i) => {
      const request = client.next();
      const fate = random();
      if (fate < 0.1) straying.push(request);
      const copies = fate > 0.2 && fate < 0.3 ? [i, i + 1] : [i];
      const [reply] = await Promise.all(copies.map((by) => send(request, by)));
      const isLost = fate > 0.9;
      if (reply !== undefined && !isLost) client.take(reply);
    });
    await Promise.all([...calls, ...late.map((request, i) => send(request, i))]);
  }
  return { clients, delivered };
}
