import type { BunRuntime } from "./runtime.ts";

/** A gateway, as the process that it runs in sees it. */
export interface Resident {
  scheduled(): Promise<unknown>;
  /** Lets requests under way end, and gives back what it holds. */
  stop(): Promise<void>;
  print(line: string): void;
}

/** Once a day, in UTC. */
const SCHEDULE = "17 3 * * *";
/** A process that has not ended by itself so long after the signal is ended: later than any request under way. */
const END_AFTER_MS = 12_000;

/** Enters gateways for what a process has once: its cron and its signals. */
export function createEnroll(): (runtime: BunRuntime, resident: Resident) => void {
  const residents = new Set<Resident>();
  return (runtime, resident) => {
    residents.add(resident);
    if (residents.size > 1) return;
    schedule(runtime, residents);
    let isStopping = false;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      runtime.process.on(signal, () => {
        // An impatient second signal must not cut short what the first one began.
        if (isStopping) return;
        isStopping = true;
        void stop(runtime, residents);
      });
    }
  };
}

/** A job that fails, or a cron that cannot be, is told; either would otherwise end the process. */
function schedule({ bun }: BunRuntime, residents: ReadonlySet<Resident>): void {
  const run = async (): Promise<void> => {
    for (const resident of residents) {
      // One that cannot run keeps no other from it.
      try {
        await resident.scheduled();
      } catch (error) {
        resident.print(`sluice: the daily jobs did not run: ${textOf(error)}`);
      }
    }
  };
  const refuse = (error: unknown): void => {
    for (const resident of residents) resident.print(`sluice: Bun.cron does not take the daily jobs: ${textOf(error)}`);
  };
  try {
    const job = bun.cron?.(SCHEDULE, run, { tz: "UTC" });
    // Early ones want a module's path instead, and reject.
    if (job instanceof Promise) job.catch(refuse);
    else job?.unref();
  } catch (error) {
    refuse(error);
  }
}

async function stop({ process }: BunRuntime, residents: ReadonlySet<Resident>): Promise<void> {
  setTimeout(() => process.exit(1), END_AFTER_MS).unref();
  let code = 0;
  await Promise.all(
    [...residents].map((resident) =>
      resident.stop().catch((error: unknown) => {
        code = 1;
        resident.print(`sluice: ${textOf(error)}`);
      }),
    ),
  );
  process.exit(code);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
