import { describe, expect, it } from "vitest";
import { memoryPlatform } from "../../adapters/memory/index.ts";
import { createSluice } from "../../src/sluice.ts";
import { etherscan } from "../../src/upstreams/etherscan/index.ts";
import { createFakeClock } from "../fixtures/fake-clock.ts";
import { callOf, createEngine, NOON } from "../fixtures/engine-harness.ts";
import { createSandbox, sandboxKeys } from "../fixtures/sandbox-etherscan.ts";

/** Answers calls of the module `odd` by `answer`, all others as the sandbox does. */
function oddly(answer: (key: string) => Response, keys: number) {
  return createEngine({
    keys,
    transport: (inner) => (request, init) => {
      const params = new URL(request.url).searchParams;
      return params.get("module") === "odd"
        ? Promise.resolve(answer(params.get("apikey") ?? ""))
        : inner(request, init);
    },
  });
}

const ODD = callOf({ module: "odd", action: "one" });

describe("one call that nothing can answer", () => {
  it("without a chain it gets the upstream's words, and no key cools", async () => {
    const engine = createEngine({ keys: 3 });
    const query = "module=account&action=balance&address=0x00000000000000000000000000000000000000a1";
    const [outcome] = await engine.burst(1, 1_000, { ...callOf(), query });
    expect(outcome?.result?.verdict).toMatchObject({ class: "caller_fault", scope: "request" });
    expect(engine.sent).toHaveLength(1);
    expect(engine.upstream.stats().targets.map(({ state }) => state)).toEqual(["ready", "ready", "ready"]);
    await engine.close();
  });

  it.each([
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "https://elsewhere.test/" } })],
    ["a page that is not there", () => new Response("Page not found", { status: 404 })],
  ])("%s from a base URL that serves others fails this call alone", async (_, answer) => {
    const engine = oddly(answer, 3);
    await engine.burst(3, 1_000);
    const [odd] = await engine.burst(1, 1_000, ODD);
    expect(odd?.error).toMatchObject({ code: "upstream_failed", status: 502 });
    const after = await engine.burst(6, 3_000);
    expect(after.map(({ result }) => result?.status)).toEqual(Array(6).fill(200));
    expect(engine.ofType("target_cooled")).toEqual([]);
    await engine.close();
  });

  it("a base URL that never served anybody is out for a minute", async () => {
    const engine = oddly(() => new Response("Page not found", { status: 404 }), 3);
    await engine.burst(1, 1_000, ODD);
    expect(engine.ofType("target_cooled")).toHaveLength(3);
    await engine.close();
  });

  it("an upstream that repeats the key in its error does not hand it to the caller", async () => {
    const answer = (key: string) =>
      Response.json({ status: "0", message: "NOTOK", result: `Error! key ${key} asked for a bad address` });
    const engine = oddly(answer, 1);
    const [outcome] = await engine.burst(1, 1_000, ODD);
    const text = new TextDecoder().decode(outcome?.result?.body);
    expect(text).not.toContain(engine.keys[0]);
    expect(text).toContain(`key [${engine.upstream.stats().targets[0]?.id}] asked`);
    await engine.close();
  });
});

describe("a clock that jumps", () => {
  it.each([
    ["ahead for a moment, and is put right", 3_600_000],
    ["back", 0],
  ])("%s: the pool goes on at its pace", async (_, ahead) => {
    const fake = createFakeClock({ start: NOON });
    let jump = 0;
    const clock = { ...fake, now: () => fake.now() + jump };
    const keys = sandboxKeys(1, 4242);
    const sandbox = createSandbox({ clock: fake, keys: keys.map((key) => ({ key })) });
    const upstreams = { etherscan: etherscan({ keys, baseUrls: "https://sandbox.test/v2/api" }) };
    const sluice = createSluice({ upstreams }, memoryPlatform({ clock, transport: sandbox.fetch }));
    const upstream = sluice.upstream("etherscan");
    const serve = async (calls: number): Promise<number> => {
      let served = 0;
      for (let i = 0; i < calls; i++) {
        upstream.send(callOf()).then(
          () => void served++,
          () => undefined,
        );
        await fake.advance(500);
      }
      await fake.advance(2_000);
      return served;
    };
    expect(await serve(20)).toBe(20);
    jump = ahead;
    await serve(4);
    jump = ahead - 3_600_000;
    expect(await serve(120)).toBe(120);
    expect(sandbox.counts().total.refused).toBe(0);
    await sluice.close();
  });
});
