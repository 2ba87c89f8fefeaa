import {
  type BucketState,
  countDay,
  EMPTY_HEAD,
  type ExchangeReply,
  type ExchangeRequest,
  isUnused,
  MemoryPool,
  type PoolHead,
  type TargetState,
} from "../../src/index.ts";
import type { ObjectStorage } from "./object-state.ts";

/** The stored mark lies this far beyond the last instant granted: while it does, a grant needs no write. */
const MARK_AHEAD_MS = 1_000;
/** A pool whose text is longer is written whole this seldom, its mark alone in between. */
const WHOLE_MAX = 256 * 1_024;
const WHOLE_EVERY_MS = 10_000;
/** A value in the object's database may have two megabytes. */
const PIECE_MAX = 512 * 1_024;
/** A new life begins this many versions later, so that what an isolate knows of the last one is older than all of it. */
const LIFE_VERSIONS = 2 ** 32;
/** News that nothing else has written is written after this long; the runtime forgets an idle object after ten seconds. */
const FLUSH_MS = 5_000;
const SWEEP_EVERY_MS = 86_400_000;

/** Of what is stored; another one's rows are not read. Raise it with every change of the rows' shape. */
const SHAPE = 1;
/** What was granted and is unknown lies behind after this long: the horizon, and the longest usual window. */
const REST_MS = 5_000;

interface Stored {
  readonly shape: typeof SHAPE;
  readonly head: PoolHead;
  readonly buckets: Record<string, BucketState>;
  readonly targets: Record<string, TargetState>;
  readonly mark: number;
  readonly sweptAt: number;
}

/**
 * A pool that lives in a Durable Object's memory and outlives it. Decisions and bad news are written at once, and the
 * runtime holds back the answer until they are; of good news and grants only a high-water mark is needed, which is
 * written about once a second under load. A restarted object grants nothing before the mark, so nothing twice.
 */
export class DurablePool {
  readonly #storage: ObjectStorage;
  readonly #pool: MemoryPool;
  /** No instant beyond this was granted that is not stored. */
  #mark: number;
  #wholeAt = 0;
  #size = 0;
  #pieces = 0;
  #isDirty = false;
  #alarmAt = 0;
  #sweptAt: number;

  constructor(storage: ObjectStorage, now: number) {
    this.#storage = storage;
    storage.sql.exec("CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID");
    const stored = this.#read(now);
    this.#mark = stored?.mark ?? 0;
    this.#sweptAt = stored?.sweptAt ?? now;
    this.#pool = stored === null ? new MemoryPool() : revive(stored);
  }

  exchange(request: ExchangeRequest, now: number): ExchangeReply {
    const reply = this.#pool.exchange(request, now);
    this.#isDirty = true;
    const end = Math.max(0, ...reply.leases.map(({ bucket }) => this.#pool.bucket(bucket)?.tat ?? 0));
    if (isHard(request, reply)) {
      this.#mark = Math.max(this.#mark, end + MARK_AHEAD_MS);
      this.#writeWhole(reply.now);
    } else if (end > this.#mark) {
      this.#mark = end + MARK_AHEAD_MS;
      if (this.#size <= WHOLE_MAX || reply.now >= this.#wholeAt + WHOLE_EVERY_MS) this.#writeWhole(reply.now);
      else this.#write("mark", String(this.#mark));
    }
    if (this.#isDirty && this.#alarmAt <= now) {
      this.#alarmAt = now + FLUSH_MS;
      void this.#storage.setAlarm(this.#alarmAt);
    }
    return reply;
  }

  /** Writes what is not written yet, and once a day forgets what nobody has used for long. */
  alarm(now: number): void {
    this.#alarmAt = 0;
    if (now >= this.#sweptAt + SWEEP_EVERY_MS) {
      this.#sweptAt = now;
      this.sweep(now);
    }
    if (this.#isDirty) this.#writeWhole(now);
  }

  /** Forgets rows that nobody has used for long; returns how many. */
  sweep(now: number): number {
    const { buckets, targets } = this.#pool;
    const before = buckets.size + targets.size;
    for (const [id, row] of buckets) if (isUnused(row, now)) buckets.delete(id);
    for (const [id, row] of targets) if (isUnused(row, now)) targets.delete(id);
    const gone = before - buckets.size - targets.size;
    if (gone > 0) this.#isDirty = true;
    return gone;
  }

  /** What is stored; null where nothing is. What cannot be read is said, and counts as lost. */
  #read(now: number): Stored | null {
    const rows = this.#storage.sql.exec("SELECT name, value FROM state ORDER BY name").toArray() as Row[];
    const pieces = rows.filter(({ name }) => name.startsWith("piece"));
    if (pieces.length === 0) return null;
    this.#pieces = pieces.length;
    const text = pieces.map(({ value }) => value).join("");
    this.#size = text.length;
    const mark = Number(rows.find(({ name }) => name === "mark")?.value ?? 0);
    const stored = parse(text);
    if (stored !== null) return { ...stored, mark: Math.max(stored.mark, mark) };
    console.error("sluice: the object's stored state is unreadable or of another version; it begins anew.");
    const head = { ...EMPTY_HEAD, now, clock: now, restUntil: now + REST_MS };
    return { shape: SHAPE, head, buckets: {}, targets: {}, mark, sweptAt: now };
  }

  #writeWhole(now: number): void {
    const { head, buckets, targets } = this.#pool;
    const stored: Stored = {
      shape: SHAPE,
      head,
      buckets: Object.fromEntries(buckets),
      targets: Object.fromEntries(targets),
      mark: this.#mark,
      sweptAt: this.#sweptAt,
    };
    const text = JSON.stringify(stored);
    const count = Math.max(1, Math.ceil(text.length / PIECE_MAX));
    // One write where there is one piece, all or none where there are more.
    this.#storage.transactionSync(() => {
      for (let i = 0; i < count; i++) this.#write(pieceName(i), text.slice(i * PIECE_MAX, (i + 1) * PIECE_MAX));
      for (let i = count; i < this.#pieces; i++) {
        this.#storage.sql.exec("DELETE FROM state WHERE name = ?", pieceName(i));
      }
    });
    this.#pieces = count;
    this.#size = text.length;
    this.#wholeAt = now;
    this.#isDirty = false;
  }

  #write(name: string, value: string): void {
    const upsert = "INSERT INTO state VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value";
    this.#storage.sql.exec(upsert, name, value);
  }
}

function parse(text: string): Stored | null {
  try {
    const stored = JSON.parse(text) as Partial<Stored> | null;
    return stored?.shape === SHAPE ? (stored as Stored) : null;
  } catch {
    return null;
  }
}

/** A new life of what was stored: nothing is granted before the mark, and what may have been granted up to it counts as used. */
function revive({ head, buckets, targets, mark }: Stored): MemoryPool {
  const lostMs = Math.max(0, mark - head.now);
  const counted = Object.entries(buckets).map(([id, bucket]) => {
    const lost = bucket.tat >= head.now ? Math.ceil((lostMs * bucket.limit) / 1_000) : 0;
    return [id, { ...bucket, today: countDay(bucket.today, head.now, lost) }] as const;
  });
  return new MemoryPool(
    { buckets: Object.fromEntries(counted), targets },
    { ...head, version: head.version + LIFE_VERSIONS, restUntil: Math.max(head.restUntil, mark) },
  );
}

interface Row extends Record<string, unknown> {
  readonly name: string;
  readonly value: string;
}

/** In the order of their names. */
function pieceName(index: number): string {
  return `piece-${String(index).padStart(5, "0")}`;
}

/** Whether something was decided that must not be lost: an order, a refusal, a fault, what follows from a probe. */
function isHard({ settle, orders }: ExchangeRequest, { leases }: ExchangeReply): boolean {
  if ((orders?.length ?? 0) > 0 || leases.some((lease) => lease.probe)) return true;
  return settle.some(({ outcome, costDelta, cannot, cool, disable }) => {
    const isPlain = outcome === "ok" || outcome === "neutral" || outcome === "unused";
    return !isPlain || [costDelta, cannot, cool, disable].some((effect) => effect !== undefined);
  });
}
