import type { Events, SluiceEvent } from "../ports/events.ts";

export interface NumberedEvent {
  /** `<epoch ms>-<number>`: unlikely to mean another event in another isolate or after a restart. */
  readonly id: string;
  readonly event: SluiceEvent;
}

export interface Subscriber {
  next(entry: NumberedEvent): void;
  /** The feed is closed; nothing follows. */
  end(): void;
}

/** The events of this isolate, for those who follow them. */
export interface EventFeed extends Events {
  /** The kept events after the one with this id. When it is no longer kept: all that are, and `complete` is false. */
  after(id: string): { readonly complete: boolean; readonly entries: readonly NumberedEvent[] };
  /** Hands every later event to the subscriber. Returns a function that ends it. */
  subscribe(subscriber: Subscriber): () => void;
  /** Ends all subscriptions, now and later. */
  close(): void;
}

/** A feed that keeps the last `capacity` events. A subscriber that throws is dropped; `emit` never throws. */
export function createEventFeed(capacity = 100): EventFeed {
  const kept: NumberedEvent[] = [];
  const subscribers = new Set<Subscriber>();
  let count = 0;
  let closed = false;

  return {
    emit(event) {
      const entry = { id: `${Math.floor(event.at)}-${++count}`, event };
      kept.push(entry);
      if (kept.length > capacity) kept.shift();
      for (const subscriber of subscribers) {
        try {
          subscriber.next(entry);
        } catch {
          subscribers.delete(subscriber);
        }
      }
    },
    after(id) {
      const place = kept.findIndex((entry) => entry.id === id);
      return { complete: place >= 0, entries: kept.slice(place + 1) };
    },
    subscribe(subscriber) {
      if (closed) subscriber.end();
      else subscribers.add(subscriber);
      return () => {
        subscribers.delete(subscriber);
      };
    },
    close() {
      closed = true;
      const ending = [...subscribers];
      subscribers.clear();
      for (const subscriber of ending) subscriber.end();
    },
  };
}
