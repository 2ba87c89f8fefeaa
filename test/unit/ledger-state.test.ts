import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { exchange, touched } from "../../src/ledger/exchange.ts";
import { LedgerClient } from "../fixtures/ledger-client.ts";
import { plain } from "../fixtures/ledger-replay.ts";
import { NOON, PureStore, wanting } from "../fixtures/pure-store.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";

const TARGETS = Array.from({ length: 40 }, (_, i) => `target-${i}`);

describe("the state", () => {
  it("stays JSON and bounded under ten thousand random exchanges, and nothing given to the reducer is written to", () => {
    const random = seededRandom(11);
    // Clients come and go; PureStore freezes whatever the reducer gets to see.
    const clients = Array.from({ length: 800 }, (_, i) => {
      return new LedgerClient({ name: `client-${i}`, random: seededRandom(i), targets: TARGETS });
    });
    const store = new PureStore();
    let now = NOON;
    const widest = { head: 0, row: 0 };
    for (let i = 0; i < 10_000; i++) {
      now += random() < 0.001 ? 40_000_000 : Math.floor(random() * 200);
      const from = Math.floor((i / 10_000) * 700);
      const client = clients[from + Math.floor(random() * 100)] as LedgerClient;
      const reply = store.exchange(client.next(), now);
      if (random() > 0.02) client.take(reply);

      const { buckets, targets } = store.changes(store.head.version - 1);
      for (const row of [...Object.values(buckets), ...Object.values(targets)]) {
        if (!isDeepStrictEqual(plain(row), row)) expect(plain(row)).toStrictEqual(row);
        widest.row = Math.max(widest.row, JSON.stringify(row).length);
      }
      if (i % 20 === 0) {
        expect(isDeepStrictEqual(plain(store.head), store.head)).toBe(true);
        widest.head = Math.max(widest.head, JSON.stringify(store.head).length);
      }
    }
    expect(widest.row).toBeLessThan(2_500);
    expect(widest.head).toBeLessThan(48_000);
    expect(store.targets.size).toBe(TARGETS.length);
    for (const { cannot } of store.targets.values()) expect(Object.keys(cannot).length).toBeLessThanOrEqual(16);
    for (const { free } of store.buckets.values()) expect(free.length).toBeLessThanOrEqual(16);
  });

  it("is the same on stores that keep objects and on stores that keep text", () => {
    const clients = Array.from({ length: 8 }, (_, i) => {
      return new LedgerClient({ name: `client-${i}`, random: seededRandom(i), targets: TARGETS.slice(0, 6) });
    });
    const objects = new PureStore();
    const texts = new PureStore();
    for (let i = 0; i < 1_500; i++) {
      const client = clients[i % clients.length] as LedgerClient;
      const request = client.next();
      const reply = objects.exchange(request, NOON + i * 40);
      const again = texts.exchange(plain(request), NOON + i * 40);
      texts.head = plain(texts.head);
      for (const [id, row] of texts.buckets) texts.buckets.set(id, plain(row));
      for (const [id, row] of texts.targets) texts.targets.set(id, plain(row));
      if (!isDeepStrictEqual(again, reply)) expect(again).toEqual(reply);
      client.take(reply);
    }
  });

  it("is read by an exchange only in the rows that it names", () => {
    const clients = Array.from({ length: 4 }, (_, i) => {
      return new LedgerClient({ name: `client-${i}`, random: seededRandom(i), targets: TARGETS.slice(0, 8) });
    });
    const store = new PureStore();
    for (let i = 0; i < 500; i++) {
      const client = clients[i % clients.length] as LedgerClient;
      const request = client.next();
      const named = touched(request);
      const read = { buckets: new Set<string>(), targets: new Set<string>() };
      const spying = {
        head: store.head,
        bucket: (id: string) => (read.buckets.add(id), store.bucket(id)),
        target: (id: string) => (read.targets.add(id), store.target(id)),
      };
      const { buckets, targets } = exchange(spying, request, NOON + i * 100);
      expect([...read.buckets, ...buckets.keys()].filter((id) => !named.buckets.has(id))).toEqual([]);
      expect([...read.targets, ...targets.keys()].filter((id) => !named.targets.has(id))).toEqual([]);
      client.take(store.exchange(request, NOON + i * 100));
    }
  });

  it("gives the version of the exchange to every row it writes, and to no other", () => {
    const store = new PureStore();
    store.run(NOON, { want: [wanting(1)] });
    store.run(NOON, { want: [wanting(1, 1_500, { bucket: "c", target: "u" })] });
    expect([store.bucket("b"), store.target("t")].map((row) => row?.version)).toEqual([1, 1]);
    expect([store.bucket("c"), store.target("u")].map((row) => row?.version)).toEqual([2, 2]);
    store.run(NOON, { arrived: 3 });
    expect(store.head.version).toBe(3);
    expect(store.changes(2)).toEqual({ buckets: {}, targets: {} });
  });
});
