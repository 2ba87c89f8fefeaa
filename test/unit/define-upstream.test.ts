import { describe, expect, test } from "vitest";
import { createSluice, defineProtocol, defineUpstream, SluiceError, type UpstreamOptions } from "../../src/index.ts";
import { memoryPlatform } from "../../adapters/memory/index.ts";
import { fingerprint } from "../../src/lib/fingerprint.ts";
import { collect, registerSecrets } from "../fixtures/secret-sink.ts";
import { realClock } from "../fixtures/real-clock.ts";

const KEYS = ["define-upstream-key-one-0a1b", "define-upstream-key-two-0a1b"];
registerSecrets(...KEYS);

interface EchoCall {
  readonly word: string;
}
const echo = defineProtocol<EchoCall, { say(word: string): Promise<string> }>({
  name: "echo",
  routes: [{ methods: ["GET"], path: "/say", parse: ({ url }) => ({ word: url.searchParams.get("word") ?? "" }) }],
  attach: ({ word }, { baseUrl, credential = "" }) =>
    new Request(`${baseUrl}/say?word=${word}`, { headers: { "x-key": credential } }),
  weigh: () => 1,
  needs: () => [],
  facts: () => ({}),
  judge: ({ status }) =>
    status === 200
      ? { class: "ok", scope: "request", reason: "data" }
      : { class: "key_invalid", scope: "key", reason: "bad_key" },
  refuse: (error) => Response.json({ error: error.message }, { status: error.status }),
  face: (send) => ({ say: async (word) => new TextDecoder().decode((await send({ word })).body) }),
});
const OPTIONS: UpstreamOptions = {
  setting: "ECHO_KEYS",
  keys: KEYS,
  baseUrl: "https://echo.example/",
  calls: 5,
  perMs: 10_000,
};

function failure(more: Partial<UpstreamOptions>): string {
  try {
    defineUpstream(echo, { ...OPTIONS, ...more });
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    expect(error.code).toBe("config_invalid");
    collect("defineUpstream's errors", error.message);
    return error.message;
  }
  throw new Error("the options were taken");
}

describe("defineUpstream", () => {
  test("has the defaults of the kit's own pools", () => {
    expect(defineUpstream(echo, OPTIONS)).toMatchObject({
      strategy: "healthiest",
      maxAttempts: 3,
      maxWaitMs: 10_000,
      maxQueue: 1_000,
      timeoutMs: 30_000,
      maxResponseBytes: 33_554_432,
      terms: { limit: 0.5, windowMs: 10_000, jitterMs: 75, dailyStop: null, dailyPacing: false },
      missing: null,
      secrets: KEYS,
    });
  });

  test("makes a target of each key, counted by itself", () => {
    const { targets } = defineUpstream(echo, { ...OPTIONS, keys: ` ${KEYS.join(",\n")}, ` });
    expect(targets).toEqual(
      KEYS.map((credential, i) => {
        const id = fingerprint(credential);
        return { id, bucket: id, baseUrl: "https://echo.example", credential, priority: i + 1, position: i + 1 };
      }),
    );
  });

  test("takes what its user sets", () => {
    const { maxWaitMs, strategy, terms } = defineUpstream(echo, {
      ...OPTIONS,
      maxWaitMs: 60_000,
      strategy: "priority",
      jitterMs: 500,
      dailyStop: 1_000,
    });
    expect([maxWaitMs, strategy, terms.jitterMs, terms.dailyStop]).toEqual([60_000, "priority", 500, 1_000]);
  });

  test.each([undefined, "", " , ", []])("without keys (%j) is off, and names the setting", (keys) => {
    expect(defineUpstream(echo, { ...OPTIONS, keys })).toMatchObject({ missing: "ECHO_KEYS", targets: [] });
  });

  test.each<[RegExp, Partial<UpstreamOptions>]>([
    [/^ECHO_KEYS: keys 1 and 2 are the same/, { keys: [KEYS[0] ?? "", KEYS[0] ?? ""] }],
    [/^ECHO_KEYS: key 1 is empty/, { keys: ["", KEYS[0] ?? ""] }],
    [/^baseUrl: is not a URL/, { baseUrl: "echo.example" }],
    [/^baseUrl: is neither http nor https/, { baseUrl: "ftp://echo.example" }],
    [/^baseUrl: has a user or password/, { baseUrl: `https://${KEYS[0]}@echo.example` }],
    [/^calls: must be a number above 0/, { calls: 0 }],
    [/^calls: must be a number above 0/, { calls: Number.NaN }],
    [/^perMs: must be at least 1/, { perMs: 0 }],
    [/^jitterMs: must be 0 or more/, { jitterMs: -1 }],
    [/^dailyStop: must be null or 1/, { dailyStop: 0 }],
  ])("says %s", (words, more) => {
    expect(failure(more)).toMatch(words);
  });

  test("runs: over HTTP and, typed, in process; a bad key is replaced by the next", async () => {
    const seen: string[] = [];
    const sluice = createSluice(
      { upstreams: { echo: defineUpstream(echo, { ...OPTIONS, perMs: 500 }) }, callers: "public" },
      memoryPlatform({
        clock: realClock,
        transport: (request) => {
          const key = request.headers.get("x-key") ?? "";
          seen.push(key);
          const word = new URL(request.url).searchParams.get("word");
          return Promise.resolve(key === KEYS[0] ? new Response("no", { status: 403 }) : new Response(word));
        },
      }),
    );
    expect(await sluice.upstream("echo").say("hello")).toBe("hello");
    const answer = await sluice.fetch(new Request("http://gateway/echo/say?word=there"));
    expect([answer.status, await answer.text()]).toEqual([200, "there"]);
    expect(seen).toEqual([...KEYS, KEYS[1]]);
    expect(sluice.stats()[0]?.targets.map(({ state }) => state)).toEqual(["disabled", "ready"]);
    await sluice.close();
  });
});
