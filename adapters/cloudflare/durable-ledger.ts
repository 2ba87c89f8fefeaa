import type { Background, ExchangeReply, ExchangeRequest, Ledger } from "../../src/index.ts";

/** The binding of the object's class, as far as the ledger needs it. */
export interface LedgerNamespace {
  idFromName(name: string): unknown;
  get(id: never): LedgerStub;
}

export interface LedgerStub {
  exchange(request: ExchangeRequest): Promise<ExchangeReply>;
  sweep(): Promise<number>;
}

/** The ledger in Durable Objects, one for each pool, by their binding. One round trip an exchange. */
export function durableLedger(namespace: LedgerNamespace, background: Background): Ledger {
  // A stub belongs to the request that made it, and is of no use once it has failed: each call gets its own.
  const stubOf = (pool: string) => namespace.get(namespace.idFromName(pool) as never);
  return {
    exchange(pool: string, request: ExchangeRequest): Promise<ExchangeReply> {
      // What a stub returns is no Promise, only something like it.
      const answer = Promise.resolve(stubOf(pool).exchange(request));
      // Others wait for this answer too: it must come even when the client that it was asked for has left.
      background.waitUntil(answer);
      return answer;
    },
    sweep: (pool: string) => Promise.resolve(stubOf(pool).sweep()),
  };
}
