import { availableParallelism, loadavg } from "node:os";
import { parseArgs } from "node:util";
import type { Child } from "./support/gateway-child.ts";
import { type Load, load, missingWrk } from "./support/gateway-load.ts";
import { type Runtime, RUNTIMES, startUpstream, TOKEN } from "./support/gateway-runtimes.ts";
import { printTable } from "./support/print-table.ts";
import { quantile } from "./support/quantile.ts";

const USAGE = `usage: npm run bench -- gateway [options]
  --pairs <n>       interleaved pairs that the medians are taken of (7)
  --seconds <n>     seconds of load on each server of a pair (4)
  --runtime <name>  only this one of: ${RUNTIMES.map(({ name }) => name).join(", ")}
`;

const CONNECTIONS = [32, 1] as const;
/** A server runs for days, so its code is compiled: on a busy machine that takes thousands of requests. */
const WARM_UP_SECONDS = 12;
const PATH =
  "/etherscan/v2/api?chainid=1&module=account&action=balance&address=0xde0B295669a9FD93d5F28D9Ec85E40f4cb697BAe&tag=latest";
const HEADERS = { authorization: `Bearer ${TOKEN}` };

interface Settings {
  readonly pairs: number;
  readonly seconds: number;
  readonly runtimes: readonly Runtime[];
}

interface Run extends Load {
  readonly cpuUs: number;
}

interface Pair {
  readonly gateway: Run;
  readonly bare: Run;
}

/** DESIGN number 4: what the gateway leaves of the throughput of a bare proxy with the same transport on the same runtime. */
export async function run(args: string[]): Promise<void> {
  const settings = parseSettings(args);
  const missing = missingWrk();
  if (typeof settings === "string" || missing !== null) {
    process.stderr.write(`${typeof settings === "string" ? `${settings}\n${USAGE}` : missing}\n`);
    process.exitCode = 2;
    return;
  }
  const { pairs, seconds, runtimes } = settings;
  process.stdout.write(
    `The gateway against a bare proxy with its transport, ${pairs} interleaved pairs of ${seconds} s, by wrk; ` +
      `load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores before.\n\n`,
  );
  for (const runtime of runtimes) {
    await measure(runtime, pairs, seconds);
    process.stdout.write("\n");
  }
}

async function measure(runtime: Runtime, pairs: number, seconds: number): Promise<void> {
  const children: Child[] = [];
  const start = async (starting: Promise<Child>): Promise<Child> => {
    const child = await starting;
    children.push(child);
    return child;
  };
  const results = new Map<number, Pair[]>();
  try {
    const upstream = await start(startUpstream());
    const gateway = await start(runtime.startGateway(upstream.url));
    const bare = await start(runtime.startBare(upstream.url));
    for (const server of [gateway, bare]) {
      await expectAnswer(server);
      await loaded(server, CONNECTIONS[0], WARM_UP_SECONDS);
    }
    for (const connections of CONNECTIONS) {
      const done: Pair[] = [];
      for (let i = 0; i < pairs; i++) {
        // Each goes first in every other pair: the machine's other work drifts.
        const first = i % 2 === 0 ? gateway : bare;
        const one = await loaded(first, connections, seconds);
        const two = await loaded(first === gateway ? bare : gateway, connections, seconds);
        done.push(first === gateway ? { gateway: one, bare: two } : { gateway: two, bare: one });
      }
      results.set(connections, done);
    }
  } finally {
    for (const child of children.reverse()) await child.stop();
  }
  report(runtime, results);
}

async function expectAnswer({ url }: Child): Promise<void> {
  const answer = await fetch(url + PATH, { headers: HEADERS });
  const text = await answer.text();
  if (answer.status !== 200 || !text.startsWith('{"status":"1"'))
    throw new Error(`${url} answers ${answer.status}: ${text}`);
}

async function loaded(server: Child, connections: number, seconds: number): Promise<Run> {
  const before = server.cpuMs();
  const result = await load(server.url + PATH, { connections, seconds, headers: HEADERS });
  return { ...result, cpuUs: ((server.cpuMs() - before) * 1_000) / result.requests };
}

function report({ name, target }: Runtime, results: ReadonlyMap<number, readonly Pair[]>): void {
  const rows = [...results].flatMap(([connections, pairs]) =>
    (["gateway", "bare"] as const).map((side) => {
      const of = (what: keyof Run): number => median(pairs.map((pair) => pair[side][what]));
      return [
        `${name}, ${connections} ${connections === 1 ? "connection" : "connections"}, ${side}`,
        of("perSecond").toFixed(0),
        of("p50Ms").toFixed(2),
        of("p99Ms").toFixed(2),
        Number.isNaN(of("cpuUs")) ? "?" : of("cpuUs").toFixed(0),
      ];
    }),
  );
  printTable(["medians", "requests/s", "p50 ms", "p99 ms", "CPU µs a request"], rows);
  process.stdout.write("\n");
  for (const [connections, pairs] of results) {
    const ratios = pairs.map(({ gateway, bare }) => gateway.perSecond / bare.perSecond);
    const isMet = median(ratios) >= target;
    if (!isMet) process.exitCode = 1;
    process.stdout.write(
      `${name}, ${connections} ${connections === 1 ? "connection" : "connections"}: ${percent(median(ratios))} of the bare proxy ` +
        `(${percent(Math.min(...ratios))}–${percent(Math.max(...ratios))}); target ≥ ${percent(target)}: ${isMet ? "met" : "missed"}\n`,
    );
  }
}

const median = (values: readonly number[]): number => quantile(values, 0.5);
const percent = (ratio: number): string => `${(100 * ratio).toFixed(0)} %`;

/** The settings, or what is wrong with them. */
function parseSettings(args: readonly string[]): Settings | string {
  try {
    const options = { pairs: { type: "string" }, seconds: { type: "string" }, runtime: { type: "string" } } as const;
    const { values } = parseArgs({ args: [...args], options });
    const pairs = Number(values.pairs ?? 7);
    const seconds = Number(values.seconds ?? 4);
    const wanted = values.runtime?.toLowerCase();
    const runtimes = RUNTIMES.filter(({ name }) => wanted === undefined || name.toLowerCase() === wanted);
    if (![pairs, seconds].every((number) => Number.isInteger(number) && number > 0)) {
      return "--pairs and --seconds take whole numbers above 0.";
    }
    return runtimes.length === 0
      ? `There is no runtime ${JSON.stringify(values.runtime)}.`
      : { pairs, seconds, runtimes };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
