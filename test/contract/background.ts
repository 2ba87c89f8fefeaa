import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Background } from "../../src/ports/background.ts";
import { divertUncaught, type Uncaught } from "../fixtures/divert-uncaught.ts";

/** A background under test. */
export interface BackgroundUnderTest {
  readonly background: Background;
  /** What its platform does at the end, where it waits for the work; absent where the platform does so unseen. */
  drain?(): Promise<void>;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** A rejection counts as unhandled when the microtasks have run. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** What every background must hold. Work that is handed over is under way already: nobody starts it. */
export function backgroundContract(name: string, open: () => Promise<BackgroundUnderTest>): void {
  describe(`the background contract: ${name}`, () => {
    let tested: BackgroundUnderTest;
    let background: Background;
    let uncaught: Uncaught;
    beforeEach(async () => {
      tested = await open();
      background = tested.background;
      uncaught = divertUncaught();
    });
    afterEach(async () => {
      await turn();
      uncaught.restore();
      expect(uncaught.thrown).toEqual([]);
    });

    /** Work of so long, and whether it has come to its end. */
    const work = (ms: number): { readonly promise: Promise<void>; isDone(): boolean } => {
      let done = false;
      const promise = sleep(ms).then(() => void (done = true));
      return { promise, isDone: () => done };
    };

    it("answers at once, with nothing, and the work comes to its end", async () => {
      const { promise, isDone } = work(20);
      expect(background.waitUntil(promise)).toBeUndefined();
      expect(isDone()).toBe(false);
      await promise;
      expect(isDone()).toBe(true);
    });

    it("leaves the work to its owner, what it fails with included", async () => {
      const failing = sleep(5).then(() => Promise.reject(new Error("of the work")));
      background.waitUntil(failing);
      await expect(failing).rejects.toThrow("of the work");
      const answering = sleep(5).then(() => "answer");
      background.waitUntil(answering);
      expect(await answering).toBe("answer");
    });

    it.each<[what: string, make: () => Promise<unknown>]>([
      ["has failed already", () => Promise.reject(new Error("already"))],
      ["fails later", () => sleep(5).then(() => Promise.reject(new Error("later")))],
      ["fails with nothing", () => Promise.reject(undefined as unknown as Error)],
      ["throws in its function", async () => JSON.parse("{") as unknown],
    ])("leaves no rejection unhandled and does not throw when the work %s", async (_what, make) => {
      expect(() => background.waitUntil(make())).not.toThrow();
      await sleep(15);
      await tested.drain?.();
    });

    it("takes many at once, the same one twice, and more from within", async () => {
      const inner = work(10);
      const outer = sleep(5).then(() => background.waitUntil(inner.promise));
      const many = Array.from({ length: 200 }, (_, i) => work(i % 7));
      for (const { promise } of many) background.waitUntil(promise);
      for (let i = 0; i < 2; i++) background.waitUntil(outer);
      await Promise.all([outer, inner.promise, ...many.map(({ promise }) => promise)]);
      expect(many.every(({ isDone }) => isDone())).toBe(true);
    });

    it("waits at its platform's end, for what fails and for what was added meanwhile too", async () => {
      const late = work(30);
      const outer = sleep(10).then(() => background.waitUntil(late.promise));
      const long = work(25);
      background.waitUntil(outer);
      background.waitUntil(long.promise);
      background.waitUntil(sleep(5).then(() => Promise.reject(new Error("on the way"))));
      if (tested.drain === undefined) {
        await Promise.all([outer, long.promise, late.promise]);
        return;
      }
      await tested.drain();
      expect([long.isDone(), late.isDone()]).toEqual([true, true]);
      await tested.drain();
      expect(() => background.waitUntil(Promise.reject(new Error("too late")))).not.toThrow();
    });
  });
}
