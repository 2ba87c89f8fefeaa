import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { SluiceError } from "../../src/index.ts";
import type { OpenDatabase, SqliteDatabase } from "./database.ts";
import { isBusy, whenFree } from "./when-free.ts";

/** The layout of the file; a file of another layout is refused, never rewritten. */
const LAYOUT = 1;

const TABLES = `
  CREATE TABLE IF NOT EXISTS heads (pool TEXT PRIMARY KEY, data TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS rows (
    pool TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (pool, kind, id)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS rows_by_version ON rows (pool, version);
  PRAGMA user_version = ${LAYOUT};
`;

/**
 * Opens the state file, and makes it when there is none. Throws `config_invalid` for anything but a sound file of this
 * layout, and leaves what it found as it was.
 */
export function openState(open: OpenDatabase, path: string): SqliteDatabase {
  try {
    if (path !== ":memory:") mkdirSync(dirname(path), { recursive: true });
    return whenFree(() => prepare(open(path), path));
  } catch (cause) {
    throw cause instanceof SluiceError ? cause : unusable(path, cause);
  }
}

function prepare(database: SqliteDatabase, path: string): SqliteDatabase {
  try {
    const made = isNew(database, path);
    if (!made) check(database);
    // NORMAL in WAL survives the death of the process at any point; only a power cut can cost the last exchanges.
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    if (made) database.exec(`BEGIN IMMEDIATE; ${TABLES} COMMIT;`);
    return database;
  } catch (cause) {
    database.close();
    throw cause;
  }
}

/** What the operator hears when the file cannot be opened, read or written. */
export function unusable(path: string, cause: unknown): SluiceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const what = isBusy(cause)
    ? "end the other program that holds it, or name another path"
    : "name a writable path, or move the file away to start anew";
  return new SluiceError("config_invalid", `SLUICE_STATE: the state file ${path} cannot be used (${why}); ${what}.`, {
    cause,
  });
}

/** Reads only: a file that is not ours stays as it is, down to its journal mode. */
function isNew(database: SqliteDatabase, path: string): boolean {
  const { user_version: layout } = database.prepare("PRAGMA user_version").get() as { user_version: number };
  if (layout > LAYOUT) {
    throw new SluiceError(
      "config_invalid",
      `SLUICE_STATE: ${path} was written by a newer Sluice (layout ${layout}, this one knows ${LAYOUT}); use that version or another path.`,
    );
  }
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as { name: string }[];
  const isOurs = ["heads", "rows"].every((name) => tables.some((table) => table.name === name));
  if (tables.length > 0 && !isOurs) {
    throw new SluiceError(
      "config_invalid",
      `SLUICE_STATE: ${path} is another program's database; name a path of Sluice's own.`,
    );
  }
  return tables.length === 0;
}

/** A damaged page or row is told at the start, not by the first call that needs it. */
function check(database: SqliteDatabase): void {
  const { quick_check: verdict } = database.prepare("PRAGMA quick_check(1)").get() as { quick_check: string };
  if (verdict !== "ok") throw new Error(verdict);
  const broken = database.prepare("SELECT pool, id FROM rows WHERE NOT json_valid(data) LIMIT 1").get();
  const headless = database.prepare("SELECT pool FROM heads WHERE NOT json_valid(data) LIMIT 1").get();
  if (broken !== undefined || headless !== undefined) throw new Error("database disk image is malformed");
}
