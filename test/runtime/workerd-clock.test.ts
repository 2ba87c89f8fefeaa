import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openRaw, rawRequest } from "../fixtures/raw-http.ts";
import { bundleWorker, startWorkerd, type Workerd } from "../fixtures/workerd.ts";
import type { IsolateEvent, TimerRun } from "../fixtures/workers/clock-requests-worker.ts";

/** How late a timer may be whose request is gone while another is under way: about 160 ms, and more on a busy machine. */
const LOST_MS = 350;
/** How late one may be whose request lives. */
const KEPT_MS = 200;

let workerd: Workerd;
beforeAll(async () => {
  const entry = join(import.meta.dirname, "../fixtures/workers/clock-requests-worker.ts");
  workerd = await startWorkerd({ script: await bundleWorker(entry) });
}, 60_000);
afterAll(() => workerd.stop());

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const urlOf = (path: string): string => new URL(path, workerd.urls[0]).href;
const send = async (path: string): Promise<void> => {
  const response = await fetch(urlOf(path));
  expect(`${response.status} ${await response.text()}`).toBe("204 ");
};
const eventsOf = async (name: string): Promise<IsolateEvent[]> => {
  const events = (await (await fetch(urlOf("/events"))).json()) as IsolateEvent[];
  return events.filter(({ what }) => what.endsWith(` ${name}`));
};
const whatOf = async (name: string): Promise<string[]> => (await eventsOf(name)).map(({ what }) => what);
const latenessOf = async (name: string): Promise<number> =>
  (await eventsOf(name)).find(({ what }) => what === `run ${name}`)?.lateMs ?? NaN;

/** A request that sets a timer for 400 ms later and whose client then resets its connection. */
async function setAndLeave(clock: string, name: string): Promise<void> {
  const client = openRaw(
    workerd.urls[0] ?? "",
    rawRequest(`/set?clock=${clock}&ms=400&hold=5000&watch=1&name=${name}`),
  );
  while ((await whatOf(name)).length === 0) await sleep(5);
  client.leave();
  await client.answered;
}

describe("the timer of a request whose client has left", () => {
  test("runs on time while it keeps its request alive", async () => {
    await setAndLeave("kept", "kept-left");
    await send("/hold?watch=1&hold=700");
    expect(await whatOf("kept-left")).toEqual(["set kept-left", "own kept-left", "run kept-left"]);
    expect(await latenessOf("kept-left")).toBeLessThan(KEPT_MS);
  });

  test("is run by another request that is under way, once, however many look", async () => {
    await setAndLeave("loose", "loose-left");
    await Promise.all(Array.from({ length: 8 }, () => send("/hold?clock=loose&watch=1&hold=800")));
    // Without `own`: the request is gone indeed.
    expect(await whatOf("loose-left")).toEqual(["set loose-left", "run loose-left"]);
    expect(await latenessOf("loose-left")).toBeLessThan(LOST_MS);
  });
});

describe("the timer of a request that is answered", () => {
  test("runs on time though no other request is under way", async () => {
    await send("/set?ms=300&watch=1&name=kept-alone");
    await sleep(700);
    expect(await whatOf("kept-alone")).toEqual(["set kept-alone", "own kept-alone", "run kept-alone"]);
    expect(await latenessOf("kept-alone")).toBeLessThan(KEPT_MS);
  });

  test("is run by the next that comes, at once, where its request was not kept", async () => {
    await send("/set?clock=loose&ms=100&watch=1&name=loose-alone");
    await sleep(400);
    expect(await whatOf("loose-alone")).toEqual(["set loose-alone"]);
    await send("/hold?clock=loose&watch=1&hold=150");
    expect(await whatOf("loose-alone")).toEqual(["set loose-alone", "run loose-alone"]);
  });

  test("is run though one before it throws", async () => {
    await send("/throw?clock=loose&ms=100&name=throwing");
    await send("/set?clock=loose&ms=100&name=beside-throwing");
    await sleep(300);
    await send("/hold?clock=loose&watch=1&hold=300");
    expect(await whatOf("throwing")).toEqual(["run throwing"]);
    expect(await whatOf("beside-throwing")).toEqual(["set beside-throwing", "run beside-throwing"]);
  });
});

describe("what a timer resolves", () => {
  test.each(["/wait", "/wait-shared"])("wakes another request that awaits it: %s", async (path) => {
    const name = `waking${path.replace("/", "-")}`;
    await send(`/set?ms=300&share=1&name=${name}`);
    await send(`${path}?watch=1&name=by-${name}`);
    const [run, woken] = [(await eventsOf(name)).at(-1), (await eventsOf(`by-${name}`)).at(-1)];
    expect([run?.what, woken?.what]).toEqual([`run ${name}`, `woken by-${name}`]);
    expect((woken?.at ?? NaN) - (run?.at ?? NaN)).toBeLessThan(KEPT_MS);
  });

  test("wakes others too when their own look ran it", async () => {
    await setAndLeave("loose", "waking-left");
    await Promise.all([0, 1, 2].map((i) => send(`/wait?clock=loose&watch=1&name=by-left-${i}`)));
    expect(await latenessOf("waking-left")).toBeLessThan(LOST_MS);
  });
});

test("two hundred timers of one request run once each, and none early", async () => {
  const response = await fetch(urlOf("/many?count=200&ms=150&watch=1"));
  const runs = (await response.json()) as TimerRun[];
  expect(runs.map(({ id }) => id).sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i));
  expect(runs.filter(({ dueAt, at }) => at < dueAt)).toEqual([]);
});
