import {
  type BucketState,
  type Changes,
  EMPTY_HEAD,
  type PoolHead,
  type PoolRows,
  type TargetState,
} from "../../src/index.ts";
import type { DenoKv, DenoKvEntry, DenoKvKey } from "./kv-types.ts";
import { pack, unpack } from "./pack.ts";

/** Entries of a pool's log: where there are more, the oldest one's rows move into the next. */
const ENTRIES_MAX = 128;
/** All entries and the head in one read, so of one moment. */
const BATCH = 500;
/** A read that others' writes have torn is made again this often. */
const READS_MAX = 5;

/** Rows by id; null for one that was forgotten. */
export interface ChangedRows {
  readonly buckets: ReadonlyMap<string, BucketState | null>;
  readonly targets: ReadonlyMap<string, TargetState | null>;
}

/** What is stored of one commit. */
interface LogEntry {
  readonly buckets: Readonly<Record<string, BucketState | null>>;
  readonly targets: Readonly<Record<string, TargetState | null>>;
}

interface StoredHead {
  /** Tells a database that was emptied and filled anew from the one that was known. */
  readonly life: string;
  readonly head: PoolHead;
}

/** How many of an entry's rows are the latest of theirs, and the values it is stored in. */
interface Place {
  live: number;
  readonly pieces: number;
}

/**
 * A pool in Deno KV, and this isolate's copy of it. Below the pool's key lie `changed, version, piece`: the rows that the
 * commit of that version changed; and then `head, piece`. So one list from the version that is known reads what is new
 * and the head, in this order and of one moment. Every commit checks the head and writes it, so that none is made on an
 * old copy; it removes the entries of which no row is the latest any more.
 */
export class PoolLog implements PoolRows {
  head: PoolHead = EMPTY_HEAD;
  readonly #kv: DenoKv;
  readonly #at: DenoKvKey;
  readonly #makeLife: () => string;
  readonly #buckets = new Map<string, BucketState>();
  readonly #targets = new Map<string, TargetState>();
  /** By version, ascending. */
  readonly #places = new Map<number, Place>();
  /** In which entry a row's latest state lies: `b:<id>` and `t:<id>`. */
  readonly #placeOf = new Map<string, number>();
  #life: string;
  #headPieces = 0;
  /** Of the head as we know it; null where there is none. */
  #stamp: string | null = null;

  constructor(kv: DenoKv, at: DenoKvKey, makeLife: () => string) {
    this.#kv = kv;
    this.#at = at;
    this.#makeLife = makeLife;
    this.#life = makeLife();
  }

  bucket(id: string): BucketState | undefined {
    return this.#buckets.get(id);
  }

  target(id: string): TargetState | undefined {
    return this.#targets.get(id);
  }

  get rows(): {
    readonly buckets: ReadonlyMap<string, BucketState>;
    readonly targets: ReadonlyMap<string, TargetState>;
  } {
    return { buckets: this.#buckets, targets: this.#targets };
  }

  /** Reads what others have committed since; tells whether there was anything. */
  async refresh(): Promise<boolean> {
    for (let reads = 0; reads < READS_MAX; reads++) {
      const { entries, head } = await this.#list();
      if (head.length === 0) {
        const wasThere = this.#stamp !== null;
        if (wasThere) this.#forget();
        return wasThere;
      }
      const stamp = head[0]?.versionstamp ?? null;
      if (stamp === this.#stamp) return false;
      const stored = (await unpack(head.map(({ value }) => value))) as StoredHead | undefined;
      if (stored !== undefined && stored.life !== this.#life && this.#stamp !== null) this.#forget();
      else if (stored !== undefined && (await this.#enterAll(entries))) {
        this.head = { ...EMPTY_HEAD, ...stored.head };
        this.#life = stored.life;
        this.#headPieces = head.length;
        this.#stamp = stamp;
        return true;
      }
    }
    throw new Error("Deno KV: the pool's rows could not be read; another program may be writing below its key");
  }

  /** All or nothing; false when somebody else has committed since the copy was read. Throws as Deno KV does. */
  async commit(head: PoolHead, changed: ChangedRows): Promise<boolean> {
    const { version } = head;
    const oldest = this.#places.size < ENTRIES_MAX ? undefined : this.#places.keys().next().value;
    const rows = this.#rowsOf(changed, oldest);
    const dead = new Set(oldest === undefined ? [] : [oldest]);
    for (const [of, left] of this.#leftWithout(rows)) if (left === 0) dead.add(of);
    const isEmpty = namesOf(rows).length === 0;
    const [entryPieces, headPieces] = await Promise.all([
      isEmpty ? [] : pack(rows),
      pack({ life: this.#life, head } satisfies StoredHead),
    ]);
    const atomic = this.#kv.atomic().check({ key: this.#headKey(0), versionstamp: this.#stamp });
    for (const [i, piece] of entryPieces.entries()) atomic.set([...this.#at, "changed", version, i], piece);
    for (const [i, piece] of headPieces.entries()) atomic.set(this.#headKey(i), piece);
    for (let i = headPieces.length; i < this.#headPieces; i++) atomic.delete(this.#headKey(i));
    for (const of of dead) {
      for (let i = 0; i < (this.#places.get(of)?.pieces ?? 0); i++) atomic.delete([...this.#at, "changed", of, i]);
    }
    const result = await atomic.commit();
    if (!result.ok) return false;
    this.#enter(version, entryPieces.length, rows);
    for (const of of dead) this.#places.delete(of);
    this.head = head;
    this.#headPieces = headPieces.length;
    this.#stamp = result.versionstamp;
    return true;
  }

  /** What a client that knows the state up to `since` does not know. */
  changes(since: number): Changes {
    // A client that knows more than there is comes from another database: it knows nothing of this one.
    const from = since < this.head.version ? since : 0;
    return { buckets: newer(this.#buckets, from), targets: newer(this.#targets, from) };
  }

  async #list(): Promise<{ readonly entries: Map<number, unknown[]>; readonly head: readonly DenoKvEntry[] }> {
    const entries = new Map<number, unknown[]>();
    const head: DenoKvEntry[] = [];
    const start = [...this.#at, "changed", this.head.version + 1];
    const end = [...this.#at, "head", Infinity];
    for await (const entry of this.#kv.list({ start, end }, { batchSize: BATCH })) {
      const [what, of] = entry.key.slice(this.#at.length);
      if (what === "head") head.push(entry);
      else if (typeof of === "number") {
        const pieces = entries.get(of);
        if (pieces === undefined) entries.set(of, [entry.value]);
        else pieces.push(entry.value);
      }
    }
    return { entries, head };
  }

  /** False, and nothing entered, when one of them is not whole. */
  async #enterAll(entries: ReadonlyMap<number, readonly unknown[]>): Promise<boolean> {
    const whole: (readonly [version: number, pieces: number, rows: LogEntry])[] = [];
    for (const [version, pieces] of entries) {
      const rows = await unpack(pieces);
      if (rows === undefined) return false;
      whole.push([version, pieces.length, rows as LogEntry]);
    }
    for (const entry of whole) this.#enter(...entry);
    return true;
  }

  #enter(version: number, pieces: number, rows: LogEntry): void {
    const names = namesOf(rows);
    for (const name of names) {
      const before = this.#placeOf.get(name);
      const place = before === undefined ? undefined : this.#places.get(before);
      // Whoever wrote this entry has removed those that it left nothing of.
      if (before !== undefined && place !== undefined && --place.live === 0) this.#places.delete(before);
      this.#placeOf.set(name, version);
    }
    if (names.length > 0) this.#places.set(version, { live: names.length, pieces });
    enterRows(this.#buckets, rows.buckets);
    enterRows(this.#targets, rows.targets);
  }

  /** The rows that changed, and what still counts of the entry `oldest`, which makes room. */
  #rowsOf(changed: ChangedRows, oldest: number | undefined): LogEntry {
    const buckets: Record<string, BucketState | null> = {};
    const targets: Record<string, TargetState | null> = {};
    if (oldest !== undefined) {
      for (const [id, row] of this.#buckets) if (this.#placeOf.get(`b:${id}`) === oldest) buckets[id] = row;
      for (const [id, row] of this.#targets) if (this.#placeOf.get(`t:${id}`) === oldest) targets[id] = row;
    }
    return {
      buckets: { ...buckets, ...Object.fromEntries(changed.buckets) },
      targets: { ...targets, ...Object.fromEntries(changed.targets) },
    };
  }

  /** By entry, how many of its rows are the latest ones once `rows` are written. */
  #leftWithout(rows: LogEntry): Map<number, number> {
    const left = new Map<number, number>();
    for (const name of namesOf(rows)) {
      const of = this.#placeOf.get(name);
      const live = of === undefined ? undefined : this.#places.get(of)?.live;
      if (of !== undefined && live !== undefined) left.set(of, (left.get(of) ?? live) - 1);
    }
    return left;
  }

  #headKey(piece: number): DenoKvKey {
    return [...this.#at, "head", piece];
  }

  #forget(): void {
    this.head = EMPTY_HEAD;
    this.#life = this.#makeLife();
    this.#headPieces = 0;
    this.#stamp = null;
    for (const map of [this.#buckets, this.#targets, this.#places, this.#placeOf]) map.clear();
  }
}

function namesOf({ buckets, targets }: LogEntry): string[] {
  return [...Object.keys(buckets).map((id) => `b:${id}`), ...Object.keys(targets).map((id) => `t:${id}`)];
}

function enterRows<Row>(into: Map<string, Row>, rows: Readonly<Record<string, Row | null>>): void {
  for (const [id, row] of Object.entries(rows)) {
    if (row === null) into.delete(id);
    else into.set(id, row);
  }
}

function newer<Row extends { readonly version: number }>(
  rows: ReadonlyMap<string, Row>,
  since: number,
): Record<string, Row> {
  const found: Record<string, Row> = {};
  for (const [id, row] of rows) if (row.version > since) found[id] = row;
  return found;
}
