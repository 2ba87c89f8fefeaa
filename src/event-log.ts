import { secretsOf, type SluiceConfig } from "./config.ts";
import { createRedactor } from "./lib/redact.ts";
import type { Events } from "./ports/events.ts";

export interface EventLog {
  readonly events: Events;
  readonly report: (thrown: unknown, requestId: string) => void;
}

/** Events and faults as lines of JSON, free of the configuration's secrets, for a platform that collects its output. */
export function createEventLog(config: SluiceConfig, print: (line: string) => void): EventLog {
  // At the first event, which comes only once the configuration is known to be one.
  let known: ((text: string) => string) | undefined;
  const redact = (text: string): string => (known ??= createRedactor(secretsOf(config)))(text);
  return {
    events: { emit: (event) => print(redact(JSON.stringify(event))) },
    report(thrown, requestId) {
      const fault = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
      print(redact(JSON.stringify({ type: "fault", requestId, fault })));
    },
  };
}
