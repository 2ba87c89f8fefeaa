/** What the ledger uses of an SQLite database, all of it at once. `DatabaseSync` of `node:sqlite` is one as it is. */
export interface SqliteDatabase {
  readonly isTransaction: boolean;
  /** Runs any number of statements. */
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  /** Lets go of the file, whatever statements there are. */
  close(): void;
}

/** It is run to its end each time. */
export interface SqliteStatement {
  run(...values: (string | number)[]): unknown;
  /** The first row; undefined when there is none. */
  get(...values: (string | number)[]): unknown;
  all(...values: (string | number)[]): unknown[];
}

/** Opens the file, and makes it when there is none; a statement that finds it locked throws at once. */
export type OpenDatabase = (path: string) => SqliteDatabase;
