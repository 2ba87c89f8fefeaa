import { SluiceError } from "../../errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { EventFeed } from "../event-feed.ts";
import { createEventStream } from "../event-stream.ts";
import type { OpsRoute } from "../ops-route.ts";

const RETRY_AFTER_MS = 15_000;

/** The event feed as server-sent events, for at most `maxStreams` clients at once. */
export function eventsRoute(feed: EventFeed, clock: Clock, maxStreams: number): OpsRoute {
  let streams = 0;
  return {
    method: "GET",
    path: "/-/events",
    access: "operator",
    answer({ request }) {
      if (streams >= maxStreams) {
        throw new SluiceError("queue_full", `${maxStreams} clients follow the events already.`, {
          status: 503,
          retryAfterMs: RETRY_AFTER_MS,
        });
      }
      streams++;
      const onEnd = (): void => {
        streams--;
      };
      const lastSeen = request.headers.get("last-event-id");
      const body = createEventStream({ feed, clock, lastSeen, signal: request.signal, onEnd });
      return new Response(body, {
        headers: {
          "content-type": "text/event-stream; charset=utf-8",
          "cache-control": "no-store, no-transform",
          "x-accel-buffering": "no",
        },
      });
    },
  };
}
