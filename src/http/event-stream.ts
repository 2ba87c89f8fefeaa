import type { Clock } from "../ports/clock.ts";
import type { EventFeed, NumberedEvent } from "./event-feed.ts";

const HEARTBEAT_MS = 15_000;
/** Chunks that lie ready in the stream, and events that wait behind them before the oldest are dropped. */
const READY = 16;
const WAITING = 256;

export interface EventStreamOptions {
  readonly feed: EventFeed;
  readonly clock: Clock;
  /** The last event that the client has seen (`Last-Event-ID`): what it has missed since comes first. */
  readonly lastSeen: string | null;
  /** The client's connection, where the runtime reports its end here and not by cancelling the stream. */
  readonly signal: AbortSignal;
  /** Runs once, when the stream is over for whatever reason. */
  readonly onEnd: () => void;
}

/**
 * The feed as server-sent events: `id`, `event` (the type), `data` (the event as JSON), and a comment every 15 s.
 * A client that reads too slowly loses the oldest events and is told how many by an event `dropped` with
 * `{"count":n}`; the count is null after a `Last-Event-ID` that is no longer kept.
 */
export function createEventStream(options: EventStreamOptions): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { feed, clock, lastSeen, signal, onEnd } = options;
  const encoder = new TextEncoder();
  const waiting: NumberedEvent[] = [];
  let dropped = 0;
  let over = false;
  let controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null;
  let stopBeat = (): void => undefined;
  let unsubscribe = (): void => undefined;

  const send = (text: string): void => controller?.enqueue(encoder.encode(text));
  const hasRoom = (): boolean => (controller?.desiredSize ?? 0) > 0;

  const flush = (): void => {
    if (dropped > 0 && hasRoom()) {
      send(message("dropped", { count: dropped }));
      dropped = 0;
    }
    while (waiting.length > 0 && hasRoom()) {
      const entry = waiting.shift();
      if (entry !== undefined) send(message(entry.event.type, entry.event, entry.id));
    }
  };

  const push = (entry: NumberedEvent): void => {
    waiting.push(entry);
    if (waiting.length > WAITING) {
      waiting.shift();
      dropped++;
    }
    flush();
  };

  const beat = (): void => {
    if (hasRoom()) send(": beat\n\n");
    stopBeat = clock.after(HEARTBEAT_MS, beat);
  };

  const stop = (): void => {
    if (over) return;
    over = true;
    stopBeat();
    unsubscribe();
    signal.removeEventListener("abort", end);
    waiting.length = 0;
    onEnd();
  };

  const end = (): void => {
    if (over) return;
    stop();
    controller?.close();
  };

  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      start(given) {
        controller = given;
        // Sent at once, so that the response's head leaves before anything has happened.
        send(": sluice events\n\n");
        if (lastSeen !== null) {
          const { complete, entries } = feed.after(lastSeen);
          if (!complete) send(message("dropped", { count: null }));
          entries.forEach(push);
        }
        stopBeat = clock.after(HEARTBEAT_MS, beat);
        signal.addEventListener("abort", end);
        unsubscribe = feed.subscribe({ next: push, end });
        if (signal.aborted) end();
      },
      pull: flush,
      cancel: stop,
    },
    { highWaterMark: READY },
  );
}

function message(type: string, data: unknown, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
