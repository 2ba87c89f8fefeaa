import { describe, expect, test } from "vitest";
import { createFakeClock } from "../fixtures/fake-clock.ts";
import {
  type Sandbox,
  type SandboxKey,
  type SandboxOptions,
  createSandbox,
  ninePhases,
  sandboxKeys,
} from "../fixtures/sandbox-etherscan.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";

const NOON = Date.UTC(2026, 0, 15, 12);
const SECOND = "Max calls per sec rate limit reached (3/sec)";
const OK = "OK";
const keys = sandboxKeys(9);
registerSecrets(...keys);
const [A = "", B = "", C = ""] = keys;
const ADDRESS = `0x${"ab".repeat(20)}`;

function setUp(list: readonly SandboxKey[], options: Partial<SandboxOptions> & { start?: number; seed?: number } = {}) {
  const { start = NOON, seed = 1, ...rest } = options;
  const clock = createFakeClock({ start, seed });
  const sandbox = createSandbox({ clock, keys: list, latency: () => 0, ...rest });
  return { clock, sandbox };
}

const urlOf = (key: string, query: string, path = "/v2/api"): string =>
  `https://sandbox.test${path}?${query}${key === "" ? "" : `&apikey=${key}`}`;

const BALANCE = `chainid=1&module=account&action=balance&address=${ADDRESS}`;

/** What the provider says: `OK`, or its words of refusal. */
async function ask(sandbox: Sandbox, key: string, query = BALANCE): Promise<string> {
  const response = await sandbox.fetch(new Request(urlOf(key, query)));
  const answer = (await response.json()) as { message: string; result: unknown };
  return answer.message === "NOTOK" ? String(answer.result) : answer.message;
}

async function askTimes(sandbox: Sandbox, key: string, times: number): Promise<string[]> {
  const answers: string[] = [];
  for (let i = 0; i < times; i++) answers.push(await ask(sandbox, key));
  return answers;
}

describe("fixed windows", () => {
  /** Instants of served calls when a key is asked every `stepMs`; refused calls use up the window, too. */
  async function served(sandbox: Sandbox, clock: ReturnType<typeof createFakeClock>, key: string): Promise<number[]> {
    const at: number[] = [];
    for (let ms = 0; ms < 10_000; ms += 10) {
      if ((await ask(sandbox, key)) === OK) at.push(clock.now() - NOON);
      await clock.advance(10);
    }
    return at;
  }

  test("three calls go, the fourth in the same window is refused, and the next window begins at the account's phase", async () => {
    const phases: number[] = [];
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const { sandbox, clock } = setUp([{ key: A }], { seed });
      const at = await served(sandbox, clock, A);
      // The first window was begun before we came, at a time that we cannot know.
      const [, , , phase = 0, ...rest] = at;
      expect(phase).toBeGreaterThan(0);
      expect(phase).toBeLessThanOrEqual(1000);
      expect(rest.slice(0, 5)).toEqual([phase + 10, phase + 20, phase + 1000, phase + 1010, phase + 1020]);
      expect(sandbox.counts().accounts["account-1"]).toMatchObject({ maxFixed: 100, maxSliding: 100 });
      phases.push(phase);
    }
    expect(new Set(phases).size).toBeGreaterThan(3);
  });

  test("each account has its own phase", async () => {
    const { sandbox, clock } = setUp(keys.map((key) => ({ key })));
    const starts = new Set<number>();
    for (const key of keys) {
      await clock.advance(1000 - ((clock.now() - NOON) % 1000));
      const began = clock.now();
      await askTimes(sandbox, key, 3);
      while ((await ask(sandbox, key)) !== OK) await clock.advance(10);
      starts.add(clock.now() - began);
    }
    expect(starts.size).toBeGreaterThan(5);
  });

  test("six calls pass across a boundary that a sliding log would have refused", async () => {
    const { sandbox, clock } = setUp([{ key: A }], { countRefused: false });
    await askTimes(sandbox, A, 3);
    while ((await ask(sandbox, A)) !== OK) await clock.advance(1);
    // Here a window has just begun. Close to its end:
    await clock.advance(990);
    expect(await askTimes(sandbox, A, 3)).toEqual([OK, OK, SECOND]);
    await clock.advance(10);
    sandbox.resetCounts();
    expect(await askTimes(sandbox, A, 4)).toEqual([OK, OK, OK, SECOND]);
    expect(sandbox.counts().accounts["account-1"]?.maxFixed).toBe(4);
    expect(sandbox.counts().accounts["account-1"]?.maxSliding).toBeGreaterThan(6);
  });
});

describe("the sliding log", () => {
  test("refuses the fourth call of any window, and not one after it", async () => {
    const { sandbox, clock } = setUp([{ key: A }], { counting: "sliding", countRefused: false });
    expect(await ask(sandbox, A)).toBe(OK);
    await clock.advance(400);
    expect(await askTimes(sandbox, A, 2)).toEqual([OK, OK]);
    await clock.advance(599);
    expect(await ask(sandbox, A)).toBe(SECOND);
    await clock.advance(1);
    expect(await ask(sandbox, A)).toBe(OK);
    await clock.advance(399);
    expect(await ask(sandbox, A)).toBe(SECOND);
  });

  test("refused calls are counted as used unless told otherwise", async () => {
    const { sandbox, clock } = setUp([{ key: A }], { counting: "sliding" });
    expect(await askTimes(sandbox, A, 4)).toEqual([OK, OK, OK, SECOND]);
    for (let i = 0; i < 20; i++) {
      await clock.advance(300);
      const answer = await ask(sandbox, A);
      if (i >= 3) expect(answer).toBe(SECOND);
    }
    await clock.advance(1000);
    expect(await ask(sandbox, A)).toBe(OK);
    expect(sandbox.counts().accounts["account-1"]?.today).toBe(25);
  });

  test("calls at safe spacing are never refused, at closer spacing they are", async () => {
    const refusedAt = async (gapMs: number): Promise<number> => {
      const clock = createFakeClock({ start: NOON });
      const sandbox = createSandbox({ clock, keys: [{ key: A }], counting: "sliding" });
      const calls: Promise<string>[] = [];
      for (let i = 0; i < 500; i++) {
        calls.push(ask(sandbox, A));
        await clock.advance(gapMs);
      }
      await clock.advance(1000);
      const answers = await Promise.all(calls);
      expect(sandbox.counts().accounts["account-1"]?.maxSliding).toBe(gapMs > 340 ? 3 : 4);
      return answers.filter((answer) => answer === SECOND).length;
    };
    // The default latency varies by 40 ms: (1000 + 40) / 3.
    expect(await refusedAt(1040 / 3)).toBe(0);
    expect(await refusedAt(334)).toBeGreaterThan(10);
  });
});

test("the ceiling that a key has is the one that it states", async () => {
  const { sandbox } = setUp([{ key: A, perSecond: 5 }], { counting: "sliding" });
  const answers = await askTimes(sandbox, A, 6);
  expect(answers).toEqual([OK, OK, OK, OK, OK, "Max calls per sec rate limit reached (5/sec)"]);
});

test("keys of one account are counted together, per second and per day", async () => {
  const list = [{ key: A, account: "shared", perDay: 8 }, { key: B, account: "shared", perDay: 8 }, { key: C }];
  const { sandbox, clock } = setUp(list, { counting: "sliding", countRefused: false });
  expect([...(await askTimes(sandbox, A, 2)), ...(await askTimes(sandbox, B, 2))]).toEqual([OK, OK, OK, SECOND]);
  expect(await ask(sandbox, A)).toBe(SECOND);
  expect(await askTimes(sandbox, C, 3)).toEqual([OK, OK, OK]);
  await clock.advance(1000);
  await askTimes(sandbox, A, 3);
  await clock.advance(1000);
  const spent = "Max daily rate limit reached. 8 (100%) of 8 day/limit";
  expect([await ask(sandbox, A), await ask(sandbox, B), await ask(sandbox, A)]).toEqual([OK, OK, spent]);
  expect(await ask(sandbox, B)).toBe(spent);
  expect(await ask(sandbox, C)).toBe(OK);
  const { accounts } = sandbox.counts();
  expect(accounts["shared"]).toEqual({ maxSliding: 5, maxFixed: expect.any(Number) as number, today: 8 });
  expect(accounts["account-3"]?.today).toBe(4);
});

test("a day is spent until 00:00 UTC", async () => {
  const start = Date.UTC(2026, 1, 28, 23, 59, 50);
  const { sandbox, clock } = setUp([{ key: A, perDay: 5 }], { start });
  const answers: string[] = [];
  for (let i = 0; i < 20; i++) {
    answers.push(await ask(sandbox, A));
    await clock.advance(500);
  }
  const refused = Array.from({ length: 15 }, (_, i) => {
    return `Max daily rate limit reached. ${6 + i} (100%) of 5 day/limit`;
  });
  expect(answers).toEqual([OK, OK, OK, OK, OK, ...refused]);
  expect(new Date(clock.now()).toISOString()).toBe("2026-03-01T00:00:00.000Z");
  expect(sandbox.counts().accounts["account-1"]?.today).toBe(0);
  expect(await ask(sandbox, A)).toBe(OK);
});

describe("sick keys", () => {
  async function sickShare(sandbox: Sandbox, clock: ReturnType<typeof createFakeClock>, key: string, calls: number) {
    let refused = 0;
    for (let i = 0; i < calls; i++) {
      if ((await ask(sandbox, key)) !== OK) refused++;
      await clock.advance(500);
    }
    return refused / calls;
  }

  test("refuse their share of calls with the per-second message, within statistical bounds", async () => {
    for (const [sickness, seed] of [
      [0.495, 1],
      [0.152, 2],
      [0.02, 3],
    ] as const) {
      const { sandbox, clock } = setUp([{ key: A, sickness: () => sickness }, { key: B }], { seed });
      const calls = 3000;
      const share = await sickShare(sandbox, clock, A, calls);
      const deviation = Math.sqrt((sickness * (1 - sickness)) / calls);
      expect(Math.abs(share - sickness)).toBeLessThan(4 * deviation);
      expect(new Set(sandbox.requests.map(({ outcome }) => outcome))).toEqual(new Set(["ok", "refused_sick"]));
      expect(sandbox.counts().accounts["account-1"]?.maxSliding).toBeLessThanOrEqual(3);
      expect(await sickShare(sandbox, clock, B, 300)).toBe(0);
    }
  });

  test("sickness changes with the time since the sandbox began", async () => {
    const { sandbox, clock } = setUp([{ key: A, sickness: (elapsedMs) => (elapsedMs < 60_000 ? 1 : 0) }]);
    expect(await sickShare(sandbox, clock, A, 120)).toBe(1);
    expect(await sickShare(sandbox, clock, A, 120)).toBe(0);
  });

  test("the preset of the main bench: well keys are enough before the flip and not after it", () => {
    const preset = ninePhases(60_000);
    const safePace = 3000 / 1075;
    const sickness = (elapsedMs: number): number[] => preset.map((key) => key.sickness?.(elapsedMs) ?? 0);
    const pace = (shares: readonly number[]): number => shares.filter((share) => share === 0).length * safePace;
    const yields = (shares: readonly number[]): number =>
      shares.reduce((sum, share) => sum + (1 - share) * safePace, 0);
    const [before, after] = [sickness(59_999), sickness(60_000)];
    expect(preset.map(({ key }) => key)).toEqual(keys);
    expect(before.slice(0, 5)).toEqual([0, 0, 0, 0.495, 0.445]);
    expect(after.slice(0, 5)).toEqual([0.5, 0.25, 0.152, 0.128, 1]);
    expect(pace(before)).toBeGreaterThan(8);
    expect(pace(after)).toBeLessThan(8);
    expect(yields(after)).toBeGreaterThan(12);
    expect(after.filter((share) => share === 0)).toHaveLength(2);
  });
});

describe("counts and requests", () => {
  test("every received call falls under one heading, by key and in total", async () => {
    const list: SandboxKey[] = [{ key: A }, { key: B, invalid: true }, { key: C, fault: () => "5xx" }];
    const { sandbox, clock } = setUp(list, { counting: "sliding" });
    await askTimes(sandbox, A, 5);
    await clock.advance(1000);
    expect(await ask(sandbox, A, BALANCE.replace("chainid=1", "chainid=8453"))).toMatch(/^Free API access is not supp/);
    expect(await ask(sandbox, A, "chainid=1&module=stats&action=dailytx")).toMatch(/API Pro endpoint/);
    expect(await ask(sandbox, B)).toBe("Invalid API Key");
    expect(await ask(sandbox, keys[8] ?? "")).toBe("Invalid API Key");
    expect(await ask(sandbox, "")).toBe("Missing/Invalid API Key");
    await sandbox.fetch(new Request(urlOf(C, BALANCE)));
    const none = { received: 0, ok: 0, refused: 0, forbidden: 0, invalid: 0, failed: 0 };
    expect(sandbox.counts()).toMatchObject({
      keys: [
        { ...none, account: "account-1", received: 7, ok: 3, refused: 2, forbidden: 2 },
        { ...none, account: "account-2", received: 1, invalid: 1 },
        { ...none, account: "account-3", received: 1, failed: 1 },
      ],
      total: { received: 11, ok: 3, refused: 2, forbidden: 2, invalid: 3, failed: 1 },
      unknown: 2,
      accounts: { "account-1": { maxSliding: 5, today: 7 }, "account-2": { maxSliding: 0, today: 0 } },
    });
    sandbox.resetCounts();
    expect(sandbox.counts().total).toEqual(none);
    expect(sandbox.counts().keys[0]).toEqual({ ...none, account: "account-1" });
    expect(sandbox.counts().accounts["account-1"]).toEqual({ maxSliding: 0, maxFixed: 0, today: 7 });
    expect(sandbox.requests).toEqual([]);
  });

  test("requests tell all but the key, and are bounded", async () => {
    const { sandbox, clock } = setUp([{ key: A }, { key: B }], { logSize: 4 });
    for (let i = 0; i < 25; i++) {
      await ask(sandbox, B, `${BALANCE}&n=${i}`);
      await clock.advance(400);
    }
    expect(sandbox.requests.map(({ params }) => params["n"])).toEqual(["21", "22", "23", "24"]);
    await sandbox.fetch(new Request(urlOf(A, "module=x"), { headers: { "x-mark": "1" } }));
    expect(sandbox.requests.at(-1)).toEqual({
      at: clock.now(),
      method: "GET",
      path: "/v2/api",
      params: { module: "x" },
      headers: { "x-mark": "1" },
      keyIndex: 0,
      outcome: "ok",
    });
    expect(JSON.stringify([sandbox.requests, sandbox.counts()])).not.toContain("SANDBOXKEY");
  });

  test("a key changes while running", async () => {
    const { sandbox, clock } = setUp([{ key: A }]);
    sandbox.setKey(A, { invalid: true });
    expect(await ask(sandbox, A)).toBe("Invalid API Key");
    sandbox.setKey(A, { invalid: false, sickness: () => 1, perSecond: 2 });
    expect(await ask(sandbox, A)).toBe("Max calls per sec rate limit reached (2/sec)");
    await clock.advance(1000);
    sandbox.setKey(A, { sickness: undefined, paid: true });
    expect(await ask(sandbox, A, "chainid=8453&module=stats&action=dailytx")).toBe(OK);
    sandbox.setKey(A, { account: "moved" });
    await ask(sandbox, A);
    expect(sandbox.counts().accounts["moved"]?.today).toBe(1);
    expect(() => sandbox.setKey(B, {})).toThrow("does not know this key");
  });

  test("keys look like real ones and follow from the seed", () => {
    expect(new Set(sandboxKeys(500)).size).toBe(500);
    for (const key of keys) expect(key).toMatch(/^SANDBOXKEY[A-Z0-9]{24}$/);
    expect(sandboxKeys(9)).toEqual(keys);
    expect(sandboxKeys(9, 2)).not.toEqual(keys);
    expect(() => setUp([{ key: A }, { key: A }])).toThrow("twice");
  });
});

describe("time on the way", () => {
  test("a call is counted after the way there and answered after the way back", async () => {
    const ways = [30, 50];
    const { sandbox, clock } = setUp([{ key: A }], { latency: () => ways.shift() ?? 0 });
    let answeredAt = 0;
    const call = ask(sandbox, A).then(() => void (answeredAt = clock.now()));
    await clock.advance(29);
    expect(sandbox.counts().total.received).toBe(0);
    await clock.advance(1);
    expect(sandbox.counts().total.received).toBe(1);
    await clock.advance(49);
    expect(answeredAt).toBe(0);
    await clock.advance(1);
    await call;
    expect(answeredAt).toBe(NOON + 80);
    expect(sandbox.requests[0]?.at).toBe(NOON + 30);
  });

  test("by default each way takes 20 to 60 ms", async () => {
    const clock = createFakeClock({ start: NOON });
    const sandbox = createSandbox({ clock, keys: [{ key: A, perSecond: 1000 }] });
    const took: number[] = [];
    const calls = Array.from({ length: 400 }, () => ask(sandbox, A).then(() => void took.push(clock.now() - NOON)));
    await clock.advance(200);
    await Promise.all(calls);
    const counted = sandbox.requests.map(({ at }) => at - NOON);
    expect(Math.min(...counted)).toBeGreaterThanOrEqual(20);
    expect(Math.min(...counted)).toBeLessThan(22);
    expect(Math.max(...counted)).toBeGreaterThan(58);
    expect(Math.max(...counted)).toBeLessThan(60);
    expect(Math.max(...took)).toBeGreaterThan(100);
    expect(clock.pending()).toBe(0);
  });

  test("an aborted call rejects at once with an AbortError; on its way it is counted all the same", async () => {
    const { sandbox, clock } = setUp([{ key: A }], { latency: () => 30 });
    const controller = new AbortController();
    const call = sandbox.fetch(new Request(urlOf(A, BALANCE), { signal: controller.signal }));
    const outcome = expect(call).rejects.toMatchObject({ name: "AbortError" });
    await clock.advance(10);
    controller.abort();
    await outcome;
    await clock.advance(100);
    expect(sandbox.counts().total.received).toBe(1);
    const late = sandbox.fetch(new Request(urlOf(A, BALANCE), { signal: controller.signal }));
    await expect(late).rejects.toMatchObject({ name: "AbortError" });
    await clock.advance(100);
    expect(sandbox.counts().total.received).toBe(1);
    expect(clock.pending()).toBe(0);
  });
});

describe("faults in process", () => {
  const start = async (fault: SandboxKey["fault"], signal?: AbortSignal) => {
    const { sandbox, clock } = setUp([{ key: A, fault }], { slowMs: 800 });
    const query = `chainid=1&module=contract&action=getsourcecode&address=${ADDRESS}`;
    const call = sandbox.fetch(new Request(urlOf(A, query), signal === undefined ? {} : { signal }));
    call.catch(() => undefined);
    await clock.advance(0);
    return { sandbox, clock, call };
  };

  test("5xx, html, empty", async () => {
    const bad = await (await start(() => "5xx")).call;
    expect([bad.status, await bad.text()]).toEqual([502, expect.stringContaining("<h1>502 Bad Gateway")]);
    const page = await (await start(() => "html")).call;
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=UTF-8"]);
    expect(await page.text()).toContain("<!DOCTYPE html>");
    const empty = await (await start(() => "empty")).call;
    expect([empty.status, await empty.text()]).toEqual([200, ""]);
  });

  test("reset and timeout fail as fetch does", async () => {
    const reset = await start(() => "reset");
    await expect(reset.call).rejects.toMatchObject({ message: "fetch failed", cause: { code: "ECONNRESET" } });
    const silent = await start(() => "timeout");
    await silent.clock.advance(299_999);
    expect(silent.clock.pending()).toBe(1);
    await silent.clock.advance(1);
    await expect(silent.call).rejects.toMatchObject({ cause: { code: "UND_ERR_HEADERS_TIMEOUT" } });
    await expect(silent.call).rejects.toBeInstanceOf(TypeError);
    expect(silent.sandbox.counts().total).toMatchObject({ received: 1, failed: 1 });
  });

  test("a call that waits in vain ends with its signal, and leaves no timer", async () => {
    const controller = new AbortController();
    const { call, clock } = await start(() => "timeout", controller.signal);
    await clock.advance(10_000);
    controller.abort();
    await expect(call).rejects.toMatchObject({ name: "AbortError" });
    expect(clock.pending()).toBe(0);
  });

  test("slow answers late, slow_body trickles, and both count as what they say", async () => {
    const slow = await start(() => "slow");
    let status = 0;
    void slow.call.then((response) => (status = response.status));
    await slow.clock.advance(799);
    expect(status).toBe(0);
    await slow.clock.advance(1);
    expect(status).toBe(200);
    expect(slow.sandbox.counts().total).toMatchObject({ ok: 1, failed: 0 });

    const trickle = await start(() => "slow_body");
    const response = await trickle.call;
    const readAt: number[] = [];
    const reading = (async () => {
      for await (const _ of response.body ?? []) readAt.push(trickle.clock.now() - NOON);
    })();
    await trickle.clock.advance(800);
    await reading;
    expect(readAt).toEqual([100, 200, 300, 400, 500, 600, 700, 800]);
  });

  test("a trickling body ends with the signal", async () => {
    const controller = new AbortController();
    const { call, clock } = await start(() => "slow_body", controller.signal);
    const text = (await call).text();
    text.catch(() => undefined);
    await clock.advance(250);
    controller.abort();
    await expect(text).rejects.toMatchObject({ name: "AbortError" });
    expect(clock.pending()).toBe(0);
  });

  test("a truncated body breaks off", async () => {
    const response = await (await start(() => "truncated")).call;
    expect(Number(response.headers.get("content-length"))).toBeGreaterThan(100);
    await expect(response.text()).rejects.toMatchObject({ message: "terminated", cause: { code: "UND_ERR_SOCKET" } });
  });

  test("a fault may be a matter of chance and time", async () => {
    const { sandbox, clock } = setUp([
      { key: A, fault: (elapsedMs, random) => (elapsedMs >= 100_000 && random < 0.25 ? "html" : null) },
    ]);
    const failed = async (): Promise<number> => {
      sandbox.resetCounts();
      for (let i = 0; i < 200; i++) {
        await (await sandbox.fetch(new Request(urlOf(A, BALANCE)))).text();
        await clock.advance(500);
      }
      return sandbox.counts().total.failed;
    };
    expect(await failed()).toBe(0);
    expect(Math.abs((await failed()) - 50)).toBeLessThan(4 * Math.sqrt(200 * 0.25 * 0.75));
  });
});
