import type { DenoRuntime } from "./runtime.ts";

/** A gateway, as the process that it runs in sees it. */
export interface Resident {
  scheduled(): Promise<unknown>;
  /** Lets requests under way end, and gives back what it holds. */
  stop(): Promise<void>;
}

const CRON = "sluice";
/** Once a day, in UTC. */
const SCHEDULE = "17 3 * * *";

/** A process that has not ended by itself so long after the signal is ended: later than any request under way. */
const END_AFTER_MS = 12_000;

const residents = new Set<Resident>();

/** Enters a gateway for what a process, or a worker of `deno serve --parallel`, has once: its cron and its signals. */
export function enroll(runtime: DenoRuntime, resident: Resident): void {
  residents.add(resident);
  if (residents.size > 1) return;
  const cron = new AbortController();
  void runtime.cron?.(CRON, SCHEDULE, { signal: cron.signal }, async () => {
    // One that could not start has nothing to run, and keeps no other from it.
    for (const each of residents) await each.scheduled().catch(() => {});
  });
  let stopping = false;
  stopOnSignals(runtime, () => {
    // An impatient second signal must not cut short what the first one began.
    if (stopping) return;
    stopping = true;
    void stop(runtime).finally(() => cron.abort());
  });
}

/** Deno itself stops accepting, and ends when nothing is left to do: other workers of the process may not be ready yet. */
async function stop(runtime: DenoRuntime): Promise<void> {
  runtime.unrefTimer(setTimeout(() => runtime.exit(1), END_AFTER_MS) as unknown as number);
  const ended = await Promise.allSettled([...residents].map((resident) => resident.stop()));
  for (const end of ended) if (end.status === "rejected") console.error(end.reason);
}

function stopOnSignals(runtime: DenoRuntime, run: () => void): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    try {
      runtime.addSignalListener(signal, run);
    } catch {
      // Windows has no SIGTERM, and a hosted isolate no signals.
    }
  }
}
