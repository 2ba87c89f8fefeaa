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

const residents = new Set<Resident>();

/** Enters a gateway for what a process has once: its cron and its signals. */
export function enroll(runtime: DenoRuntime, resident: Resident): void {
  residents.add(resident);
  if (residents.size > 1) return;
  registerCron(runtime);
  stopOnSignals(runtime);
}

function registerCron(runtime: DenoRuntime): void {
  void runtime.cron?.(CRON, SCHEDULE, async () => {
    // One that could not start has nothing to run, and keeps no other from it.
    for (const resident of residents) await resident.scheduled().catch(() => {});
  });
}

function stopOnSignals(runtime: DenoRuntime): void {
  let stopping = false;
  const stop = (): void => {
    // An impatient second signal must not cut short what the first one began.
    if (stopping) return;
    stopping = true;
    void Promise.allSettled([...residents].map((resident) => resident.stop())).then((ended) => {
      for (const end of ended) if (end.status === "rejected") console.error(end.reason);
      runtime.exit(ended.every(({ status }) => status === "fulfilled") ? 0 : 1);
    });
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    try {
      runtime.addSignalListener(signal, stop);
    } catch {
      // Windows has no SIGTERM, and a hosted isolate no signals.
    }
  }
}
