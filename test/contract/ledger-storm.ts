import type { BucketTerms, ExchangeReply, ExchangeRequest, Ledger } from "../../src/ports/ledger.ts";
import { LedgerClient, TERMS } from "../fixtures/ledger-client.ts";
import type { Delivered } from "../fixtures/ledger-replay.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";

export interface StormOptions {
  readonly seed: number;
  /** Connections to one store, as of different processes. */
  readonly ledgers: readonly Ledger[];
  readonly pool: string;
  readonly advance: (ms: number) => Promise<void>;
  readonly rounds: number;
  /** Calls of several units, and a day that is paced and ends. */
  readonly weighted?: boolean;
  /** Lets seconds to days pass now and then. */
  readonly leaps?: boolean;
  /** Runs before each round; gives the connections to go on with, where those before have gone. */
  readonly before?: (round: number) => Promise<readonly Ledger[] | undefined>;
}

/** Two to a bucket. */
const TARGETS: readonly string[] = Array.from({ length: 8 }, (_, i) => `target-${i}`);
const CLIENTS = 64;
const PACED: BucketTerms = { ...TERMS, dailyStop: 400, dailyPacing: true };

export interface Storm {
  readonly clients: readonly LedgerClient[];
  readonly delivered: readonly Delivered[];
  /** Exchanges that had been delivered before. */
  readonly repeated: number;
}

/**
 * Sixty-four isolates at once do random things to one pool through a network that doubles requests, loses answers and
 * delivers old requests late.
 */
export async function storm(options: StormOptions): Promise<Storm> {
  const { seed, pool, advance, rounds, leaps = false, weighted = false, before } = options;
  let { ledgers } = options;
  const random = seededRandom(seed);
  const clients = Array.from({ length: CLIENTS }, (_, i) => {
    const of = { name: `client-${i}`, random: seededRandom(seed * 1_000 + i), targets: TARGETS };
    return new LedgerClient(weighted ? { ...of, weighted, terms: PACED } : of);
  });
  const delivered: Delivered[] = [];
  let straying: ExchangeRequest[] = [];
  const send = async (request: ExchangeRequest, by: number): Promise<ExchangeReply> => {
    const reply = await (ledgers[by % ledgers.length] as Ledger).exchange(pool, request);
    delivered.push({ request, reply });
    return reply;
  };

  for (let round = 0; round < rounds; round++) {
    ledgers = (await before?.(round)) ?? ledgers;
    await advance(Math.floor(random() * 400));
    if (leaps && random() < 0.2) await advance(Math.floor(10 ** (3 + 5.5 * random())));
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
  const repeated = delivered.length - new Set(delivered.map(({ request }) => request.id)).size;
  return { clients, delivered, repeated };
}
