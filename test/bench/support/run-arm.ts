import { createFakeClock, type FakeClock } from "../../fixtures/fake-clock.ts";
import { realClock } from "../../fixtures/real-clock.ts";
import {
  createSandbox,
  ninePhases,
  type Sandbox,
  type SandboxKey,
  type SandboxRequest,
  startSandbox,
} from "../../fixtures/sandbox-etherscan.ts";
import { seededRandom } from "../../fixtures/seeded-random.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { Transport } from "../../../src/ports/transport.ts";
import type { Contestant } from "./nine-keys.ts";
import { offerLoad, type Sample } from "./offer-load.ts";
import { withVirtualGlobals } from "./virtual-globals.ts";

export interface Course {
  readonly seed: number;
  readonly perSecond: number;
  /** Length of the load; the ranking flips in the middle. */
  readonly ms: number;
}

/** A call as the sandbox saw it. */
export interface Received {
  /** Milliseconds from the start. */
  readonly at: number;
  readonly position: number;
  readonly outcome: SandboxRequest["outcome"];
}

/** One arm on one course. */
export interface ArmRun {
  readonly samples: readonly Sample[];
  readonly received: readonly Received[];
  /** Refusals as the arm itself saw them, where it tells. */
  readonly told: readonly { readonly at: number; readonly position: number; readonly probe: boolean }[] | null;
}

/** How long open calls are waited for when no more arrive: virtual patience costs nothing. */
export const drainMs = (isReal: boolean): number => (isReal ? 30_000 : 600_000);
/** Everything that the fake clock has to do at once. */
const STEP_MS = 1_000;
const ARRIVAL_SEEDS = 1_000;

/** In virtual time, in process. The same seed gives every arm the same arrivals and the same windows. */
export async function runVirtually(contestant: Contestant, course: Course): Promise<ArmRun> {
  const clock = createFakeClock({ seed: course.seed });
  if (contestant.usesGlobals !== true) return runOn(clock, contestant, course);
  return withVirtualGlobals(clock, async (use) => {
    const result = await runOn(clock, contestant, course);
    if (use.timers > 0 && use.reads > 0) return result;
    throw new Error(`${contestant.name} takes its time from elsewhere than the globals: its run is worth nothing.`);
  });
}

async function runOn(clock: FakeClock, contestant: Contestant, course: Course): Promise<ArmRun> {
  const keys = ninePhases(course.ms / 2, course.seed);
  const sandbox = createSandbox({ clock: { ...clock, random: seededRandom(course.seed) }, keys, logSize: Infinity });
  const baseUrl = "https://sandbox.test/v2/api";
  let isOver = false;
  const running = run(contestant, course, { clock, sandbox, keys, baseUrl, transport: sandbox.fetch });
  const done = running.finally(() => (isOver = true));
  while (!isOver) await clock.advance(STEP_MS);
  return done;
}

/** On the machine's clock, over real HTTP: all arms at the same time, each with its own sandbox. */
export async function runForReal(contestants: readonly Contestant[], course: Course): Promise<readonly ArmRun[]> {
  return Promise.all(
    contestants.map(async (contestant) => {
      const clock: Clock = { ...realClock, random: seededRandom(course.seed) };
      const keys = ninePhases(course.ms / 2, course.seed);
      const { sandbox, url, close } = await startSandbox({ clock, keys, logSize: Infinity });
      try {
        const transport: Transport = (request, init) => fetch(request, init);
        return await run(contestant, course, { clock: realClock, sandbox, keys, baseUrl: `${url}/v2/api`, transport });
      } finally {
        await close();
      }
    }),
  );
}

interface Site {
  readonly clock: Clock;
  readonly sandbox: Sandbox;
  readonly keys: readonly SandboxKey[];
  readonly baseUrl: string;
  readonly transport: Transport;
}

async function run(contestant: Contestant, course: Course, site: Site): Promise<ArmRun> {
  const { clock, sandbox, keys, baseUrl, transport } = site;
  const start = clock.now();
  const sickness = (position: number): number => keys[position - 1]?.sickness?.(clock.now() - start) ?? 0;
  const texts = keys.map(({ key }) => key);
  const { arm, refused, close } = contestant.start({ clock, keys: texts, baseUrl, transport, sickness });
  const samples = await offerLoad(arm, {
    clock,
    random: seededRandom(ARRIVAL_SEEDS + course.seed),
    perSecond: course.perSecond,
    ms: course.ms,
    drainMs: drainMs(clock === realClock),
  });
  await close();
  const received = sandbox.requests.map(({ at, keyIndex, outcome }) => ({
    at: at - start,
    position: (keyIndex ?? -1) + 1,
    outcome,
  }));
  const told = refused?.map((call) => ({ ...call, at: call.at - start })) ?? null;
  return { samples, received, told };
}
