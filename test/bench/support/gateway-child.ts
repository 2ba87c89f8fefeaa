import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";

const LISTENING = /listening on (http:\/\/\S+)$/m;
const START_MS = 20_000;
const STOP_MS = 5_000;
/** Linux counts a process's time in hundredths of a second. */
const TICK_MS = 10;

/** A server in a process of its own, which the bench started and stops. */
export interface Child {
  readonly url: string;
  /** Processor time so far in milliseconds, user and system; NaN where the machine does not tell (not Linux). */
  cpuMs(): number;
  stop(): Promise<void>;
}

/** Starts Node (or `program`) and resolves as soon as it prints where it listens. */
export async function startChild(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  program: string = process.execPath,
): Promise<Child> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    const silent = setTimeout(() => child.kill("SIGKILL"), START_MS);
    const hear = (text: string): void => {
      output += text;
      const found = LISTENING.exec(output)?.[1];
      if (found === undefined) return;
      clearTimeout(silent);
      resolve(found);
    };
    child.stdout.setEncoding("utf8").on("data", hear);
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.once("error", reject);
    child.once("close", () => reject(new Error(`${args.join(" ")} did not start:\n${output}`)));
  });
  return {
    url,
    cpuMs: () => cpuMs(child.pid ?? 0),
    async stop() {
      child.kill("SIGTERM");
      const stuck = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await ended;
      clearTimeout(stuck);
    },
  };
}

function cpuMs(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // After the program's name in brackets, which may hold blanks: state is field 3, utime 14, stime 15.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    return Number.NaN;
  }
}
