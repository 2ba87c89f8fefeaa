import { describe, expect, it } from "vitest";
import { checkedCall, checkedCost, checkedRequest } from "../../src/engine/checked.ts";

describe("what a protocol of one's own may get wrong", () => {
  it.each([0, -1, Number.NaN, Infinity, undefined, "1", null])("a cost of %s", (cost) => {
    expect(() => checkedCost(cost)).toThrow(/weigh returned/);
  });

  it("a cost that is one", () => {
    expect(checkedCost(0.5)).toBe(0.5);
  });

  it.each([
    ["nothing", undefined],
    ["a text", "https://upstream.test/"],
    ["a promise", Promise.resolve()],
    ["a response", new Response()],
    ["a file", { url: "file:///etc/passwd", bodyUsed: false }],
    ["a used body", { url: "https://upstream.test/", bodyUsed: true }],
  ])("a request that is %s", (_what, request) => {
    expect(() => checkedRequest(request)).toThrow(/attach returned no unused Request/);
  });

  it("a request that is one", () => {
    const request = new Request("https://upstream.test/", { method: "POST", body: "x" });
    expect(checkedRequest(request)).toBe(request);
  });

  it("a promise of a call, whose rejection is nobody's", async () => {
    expect(() => checkedCall(Promise.reject(new Error("later")))).toThrow(/parse returned a promise/);
    await Promise.resolve();
    expect(checkedCall({ a: 1 })).toEqual({ a: 1 });
  });
});
