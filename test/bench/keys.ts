import { parseArgs } from "node:util";
import { type ArmRuns, printArms, printKeys, printVerdict } from "./support/keys-report.ts";
import { type Contestant, omniscient, roundRobin, sluice } from "./support/nine-keys.ts";
import { publishedBroker } from "./support/published-broker.ts";
import { type Course, drainMs, runForReal, runVirtually } from "./support/run-arm.ts";

const USAGE = `usage: npm run bench -- keys [options]
  --minutes <n>     virtual minutes of load, the flip in the middle (20)
  --seeds <n>       runs with seeds 1 to n, added up (3; with --real 1)
  --rate <n>        calls per second (8)
  --real [seconds]  over real HTTP and on the real clock, all arms at the same time (300 seconds)
  --by-key          also where each arm's refusals come from
`;

interface Settings {
  readonly ms: number;
  readonly seeds: number;
  readonly perSecond: number;
  readonly isReal: boolean;
  readonly byKey: boolean;
}

/** DESIGN number 1: nine keys of uneven health whose ranking flips, spent in four ways. */
export async function run(args: string[]): Promise<void> {
  let settings: Settings;
  try {
    settings = parseSettings(args);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    process.exitCode = 2;
    return;
  }
  const { ms, seeds, perSecond, isReal, byKey } = settings;
  const broker = await publishedBroker();
  if (typeof broker === "string") process.stdout.write(`${broker}\n`);
  const contestants = [roundRobin, ...(typeof broker === "string" ? [] : [broker]), sluice, omniscient];
  const time = isReal ? `${ms / 1_000} s over real HTTP` : `${ms / 60_000} min of virtual time`;
  process.stdout.write(
    `Nine keys whose ranking flips half-way, ${perSecond} calls/s at random, ${time}, ${seeds} ` +
      `${seeds === 1 ? "seed" : "seeds"}.\n${omniscient.name}: Sluice itself, told every key's true sickness at every ` +
      `instant, without probes; the bargain of waiting against refusals is the same.\n` +
      `A call still open ${drainMs(isReal) / 1_000} s after the last arrival counts as failed.\n\n`,
  );
  const arms = await runAll(contestants, { ms, perSecond }, seeds, isReal);
  const others = contestants.filter((each) => each !== sluice && each !== omniscient).map(({ name }) => name);
  const report = { arms, ms, subject: sluice.name, yardstick: omniscient.name, others };
  printArms(report);
  printVerdict(report);
  if (byKey) printKeys(report);
}

async function runAll(
  contestants: readonly Contestant[],
  course: Omit<Course, "seed">,
  seeds: number,
  isReal: boolean,
): Promise<readonly ArmRuns[]> {
  const arms = contestants.map(({ name }) => ({ name, runs: [] as ArmRuns["runs"][number][] }));
  for (let seed = 1; seed <= seeds; seed++) {
    const runs = isReal ? await runForReal(contestants, { ...course, seed }) : [];
    for (const [i, contestant] of contestants.entries()) {
      arms[i]?.runs.push(runs[i] ?? (await runVirtually(contestant, { ...course, seed })));
    }
  }
  return arms;
}

function parseSettings(args: readonly string[]): Settings {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string" },
      seeds: { type: "string" },
      rate: { type: "string" },
      real: { type: "boolean" },
      "by-key": { type: "boolean" },
    },
    allowPositionals: true,
  });
  const isReal = values.real === true;
  if (positionals.length > (isReal ? 1 : 0)) throw new TypeError(`What is ${JSON.stringify(positionals.at(-1))} for?`);
  const seconds = isReal
    ? positive("--real", positionals[0] ?? "300")
    : 60 * positive("--minutes", values.minutes ?? "20");
  return {
    ms: seconds * 1_000,
    seeds: Math.ceil(positive("--seeds", values.seeds ?? (isReal ? "1" : "3"))),
    perSecond: positive("--rate", values.rate ?? "8"),
    isReal,
    byKey: values["by-key"] === true,
  };
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (number > 0 && number < Infinity) return number;
  throw new TypeError(`${name} takes a number above 0, got ${JSON.stringify(text)}.`);
}
