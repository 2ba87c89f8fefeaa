/** What a Durable Object gets from its runtime, as far as the ledger needs it. */
export interface ObjectState {
  readonly storage: ObjectStorage;
}

export interface ObjectStorage {
  readonly sql: ObjectSql;
  transactionSync<T>(run: () => T): T;
  setAlarm(atMs: number): Promise<void>;
}

export interface ObjectSql {
  exec(query: string, ...bindings: (string | number)[]): { toArray(): Record<string, unknown>[] };
}
