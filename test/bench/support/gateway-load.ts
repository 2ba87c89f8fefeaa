import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";

const WRK = "wrk";
const run = promisify(execFile);
const UNIT_MS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000, m: 60_000 };

export interface Load {
  readonly perSecond: number;
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadOptions {
  readonly connections: number;
  readonly seconds: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Null when wrk is there, else how to get it. */
export function missingWrk(): string | null {
  return spawnSync(WRK, ["--version"]).error === undefined
    ? null
    : "The load comes from wrk, which is not installed: apt-get install --no-install-recommends wrk (Debian, Ubuntu) or brew install wrk.";
}

/** As many requests as the server answers, by wrk. Throws when one of them fails: fast errors are no throughput. */
export async function load(url: string, { connections, seconds, headers }: LoadOptions): Promise<Load> {
  const named = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--latency", "--timeout", "10s", ...named, url];
  const { stdout } = await run(WRK, args);
  const bad = /^.*(?:Non-2xx|Socket errors).*$/m.exec(stdout)?.[0];
  if (bad !== undefined) throw new Error(`Not every request was answered well: ${bad.trim()}`);
  return {
    perSecond: Number(find(stdout, /Requests\/sec:\s+([\d.]+)/)),
    requests: Number(find(stdout, /(\d+) requests in/)),
    p50Ms: toMs(find(stdout, /^\s+50%\s+(\S+)/m)),
    p99Ms: toMs(find(stdout, /^\s+99%\s+(\S+)/m)),
  };
}

function find(text: string, what: RegExp): string {
  const found = what.exec(text)?.[1];
  if (found === undefined) throw new Error(`wrk's report is not as expected:\n${text}`);
  return found;
}

function toMs(text: string): number {
  const [, value = "", unit = ""] = /^([\d.]+)([a-z]+)$/.exec(text) ?? [];
  return Number(value) * (UNIT_MS[unit] ?? Number.NaN);
}
