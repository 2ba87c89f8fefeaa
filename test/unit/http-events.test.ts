import { describe, expect, test } from "vitest";
import type { SluiceEvent } from "../../src/ports/events.ts";
import { createEventFeed } from "../../src/http/event-feed.ts";
import { createEventStream } from "../../src/http/event-stream.ts";
import { createFakeClock } from "../fixtures/fake-clock.ts";
import { createHarness } from "../fixtures/http-harness.ts";

const event = (n: number): SluiceEvent => ({ type: "ledger_up", at: 1000.5, upstream: "etherscan", downMs: n });

function follow(response: Response): { next: () => Promise<string | null>; cancel: () => Promise<void> } {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) throw new Error("no body");
  return {
    next: async () => (await reader.read()).value ?? null,
    cancel: () => reader.cancel(),
  };
}

describe("the feed", () => {
  test("hands each event to every subscriber until it leaves", () => {
    const feed = createEventFeed();
    const seen: string[] = [];
    const leave = feed.subscribe({ next: ({ id }) => seen.push(`a ${id}`), end: () => undefined });
    feed.subscribe({ next: ({ id }) => seen.push(`b ${id}`), end: () => undefined });
    feed.emit(event(1));
    leave();
    feed.emit(event(2));
    expect(seen).toEqual(["a 1000-1", "b 1000-1", "b 1000-2"]);
  });

  test("never throws back, and drops a subscriber that does", () => {
    const feed = createEventFeed();
    let calls = 0;
    feed.subscribe({
      next: () => {
        calls++;
        throw new Error("x");
      },
      end: () => undefined,
    });
    feed.emit(event(1));
    feed.emit(event(2));
    expect(calls).toBe(1);
  });

  test("keeps the last hundred", () => {
    const feed = createEventFeed();
    for (let n = 1; n <= 150; n++) feed.emit(event(n));
    expect(feed.after("1000-149").entries.map(({ id }) => id)).toEqual(["1000-150"]);
    expect(feed.after("1000-150")).toEqual({ complete: true, entries: [] });
    const lost = feed.after("1000-50");
    expect(lost.complete).toBe(false);
    expect(lost.entries).toHaveLength(100);
  });

  test("ends its subscribers when it closes, later ones at once", () => {
    const feed = createEventFeed();
    let ended = 0;
    const subscriber = { next: () => undefined, end: () => void ended++ };
    feed.subscribe(subscriber);
    feed.close();
    feed.subscribe(subscriber);
    expect(ended).toBe(2);
  });
});

describe("/-/events", () => {
  test("sends events as they come, in the form of server-sent events", async () => {
    const { get, feed } = createHarness();
    const response = await get("/-/events");
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const stream = follow(response);
    expect(await stream.next()).toBe(": sluice events\n\n");
    feed.emit(event(7));
    expect(await stream.next()).toBe(
      'id: 1000-1\nevent: ledger_up\ndata: {"type":"ledger_up","at":1000.5,"upstream":"etherscan","downMs":7}\n\n',
    );
    await stream.cancel();
  });

  test("replays what a returning client has missed", async () => {
    const { get, feed } = createHarness();
    for (const n of [1, 2, 3]) feed.emit(event(n));
    const stream = follow(await get("/-/events", { "last-event-id": "1000-1" }));
    await stream.next();
    expect(await stream.next()).toContain("id: 1000-2\n");
    expect(await stream.next()).toContain("id: 1000-3\n");
    await stream.cancel();
  });

  test("says so when it no longer knows what was missed", async () => {
    const { get, feed } = createHarness();
    feed.emit(event(1));
    const stream = follow(await get("/-/events", { "last-event-id": "999-77" }));
    await stream.next();
    expect(await stream.next()).toBe('event: dropped\ndata: {"count":null}\n\n');
    expect(await stream.next()).toContain("id: 1000-1\n");
    await stream.cancel();
  });

  test("beats every fifteen seconds and stops when the client leaves", async () => {
    const { get, clock } = createHarness();
    const stream = follow(await get("/-/events"));
    await stream.next();
    await clock.advance(15_000);
    expect(await stream.next()).toBe(": beat\n\n");
    await clock.advance(15_000);
    expect(await stream.next()).toBe(": beat\n\n");
    expect(clock.pending()).toBe(1);
    await stream.cancel();
    expect(clock.pending()).toBe(0);
  });

  test("ends with the feed", async () => {
    const { get, clock, feed } = createHarness();
    const stream = follow(await get("/-/events"));
    await stream.next();
    feed.close();
    expect(await stream.next()).toBe(null);
    expect(clock.pending()).toBe(0);
    const late = follow(await get("/-/events"));
    await late.next();
    expect(await late.next()).toBe(null);
    expect(clock.pending()).toBe(0);
  });

  test("ends when the connection is reported gone by its signal", async () => {
    const { handle, clock } = createHarness();
    const abort = new AbortController();
    const stream = follow(await handle(new Request("http://127.0.0.1/-/events", { signal: abort.signal })));
    await stream.next();
    abort.abort();
    expect(await stream.next()).toBe(null);
    expect(clock.pending()).toBe(0);
  });

  test("has room for a bounded number of clients, and gives it back", async () => {
    const { get, handle } = createHarness({ limits: { maxEventStreams: 1 } });
    const stream = follow(await get("/-/events"));
    const refused = await get("/-/events");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "15"]);
    await stream.cancel();
    // HEAD opens no stream that stays.
    expect((await handle(new Request("http://127.0.0.1/-/events", { method: "HEAD" }))).status).toBe(200);
    const again = await get("/-/events");
    expect(again.status).toBe(200);
    await again.body?.cancel();
  });
});

test("a client that reads too slowly loses the oldest events and is told how many", async () => {
  const feed = createEventFeed();
  const clock = createFakeClock();
  const signal = new AbortController().signal;
  const reader = createEventStream({ feed, clock, lastSeen: null, signal, onEnd: () => undefined }).getReader();
  for (let n = 1; n <= 1000; n++) feed.emit(event(n));
  const texts: string[] = [];
  const decoder = new TextDecoder();
  while (texts.at(-1)?.includes('"downMs":1000}') !== true) texts.push(decoder.decode((await reader.read()).value));
  const numbers = texts.flatMap((text) => /"downMs":(\d+)/.exec(text)?.[1] ?? []).map(Number);
  const dropped = texts.flatMap((text) => /event: dropped\ndata: {"count":(\d+)}/.exec(text)?.[1] ?? []).map(Number);
  expect(dropped).toHaveLength(1);
  expect(numbers.length + (dropped[0] ?? 0)).toBe(1000);
  expect(numbers.length).toBeLessThan(300);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  await reader.cancel();
});
