import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UpstreamStats } from "../../src/index.ts";
import {
  type InstalledExamples,
  installExamples,
  runProgram,
  type ServingProgram,
  startProgram,
} from "../fixtures/installed-example.ts";
import { registerSecrets } from "../fixtures/secret-sink.ts";
import { startWeather, type WeatherServer } from "../fixtures/weather-server.ts";

const CALLER = "weather-caller-0a1b2c3d4e5f";
const OPERATOR = "weather-operator-0a1b2c3d4e5f";
const KEYS = [1, 2, 3].map((n) => `weather-key-${n}-0a1b2c3d4e5f`);
const BAD_KEY = "weather-bad-key-0a1b2c3d4e5f";
registerSecrets(CALLER, OPERATOR, BAD_KEY, ...KEYS);

describe("examples/own-protocol", () => {
  let examples: InstalledExamples;
  let server: WeatherServer;
  let gateway: ServingProgram;
  let env: Readonly<Record<string, string>>;
  beforeAll(async () => {
    [examples, server] = await Promise.all([installExamples("own-protocol"), startWeather(KEYS)]);
    env = {
      WEATHER_KEYS: [BAD_KEY, ...KEYS].join(","),
      WEATHER_BASE_URL: server.url,
      SLUICE_TOKENS: CALLER,
      SLUICE_ADMIN_TOKEN: OPERATOR,
    };
    gateway = await startProgram(["node", "main.ts"], examples.folderOf("own-protocol"), env);
  }, 60_000);
  afterAll(async () => {
    await gateway?.stop();
    await server?.close();
    examples?.remove();
  });

  const ask = (path: string, headers: Readonly<Record<string, string>> = { "x-api-key": CALLER }): Promise<Response> =>
    fetch(gateway.url + path, { headers });

  test("forty calls over HTTP and in process, on three keys that take five in ten seconds, are all answered", async () => {
    const cities = Array.from({ length: 34 }, (_, i) => "x".repeat(i + 1));
    const inProcess = runProgram(
      ["node", "report.ts", "Oslo", "Lima", "Accra", "Quito", "Hanoi", "Tunis"],
      examples.folderOf("own-protocol"),
      env,
    );
    const answers = await Promise.all(
      cities.map(async (city) => {
        const answer = await ask(`/weather/v1/forecast?city=${city}`);
        return [answer.status, (await answer.json()) as unknown];
      }),
    );
    expect(answers).toEqual(cities.map((city) => [200, { city, celsius: city.length }]));
    const report = await inProcess;
    expect(report.code).toBe(0);
    expect(report.stdout).toBe("Oslo: 4 °C\nLima: 4 °C\nAccra: 5 °C\nQuito: 5 °C\nHanoi: 5 °C\nTunis: 5 °C\n");
    expect(server.counts).toMatchObject({ ok: 40, refused: 0 });
    expect(server.most).toBe(5);
  }, 60_000);

  test("the key that the API refuses is disabled", async () => {
    const answer = await ask("/-/stats", { authorization: `Bearer ${OPERATOR}` });
    const { upstreams } = (await answer.json()) as { upstreams: readonly UpstreamStats[] };
    const targets = upstreams[0]?.targets ?? [];
    expect(targets.map(({ state }) => state)).toEqual(["disabled", "ready", "ready", "ready"]);
    expect(targets[0]?.why).toBe("key_invalid");
    // Each of the two processes may have had one call on its way before it learnt of the other's.
    expect(server.counts.badKey).toBeLessThanOrEqual(2);
    expect([...server.bad.keys()]).toEqual([BAD_KEY]);
    expect(gateway.output).toContain("target_disabled");
  });

  test("a key that somebody else has spent is replaced by another: its 429 reaches nobody", async () => {
    const url = `${server.url}/v1/forecast?city=Oslo`;
    for (let i = 0; i < 6; i++) await fetch(url, { headers: { "x-api-key": KEYS[0] ?? "" } });
    const before = server.counts.refused;
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask("/weather/v1/forecast?city=Oslo")));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(server.counts.refused).toBeGreaterThan(before);
    // One refusal tells; another call may have been on its way.
    expect(server.counts.refused).toBeLessThanOrEqual(before + 2);
    expect(gateway.output).toContain("foreign_use");
  }, 40_000);

  test.each([
    ["a caller without a token", "/weather/v1/forecast?city=Oslo", {}, 401, /token/i],
    ["a call without a city", "/weather/v1/forecast", { "x-api-key": CALLER }, 400, /^city: not given/],
    ["a wrong path", "/weather/v2/forecast", { "x-api-key": CALLER }, 404, /^weather has no such route/],
  ])("%s is told so in the API's own form", async (_what, path, headers, status, words) => {
    const answer = await ask(path, headers);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toEqual({ error: expect.stringMatching(words) as string });
  });
});
