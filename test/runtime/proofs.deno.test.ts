import { expect, it } from "vitest";
import { noteOfRun } from "../fixtures/run-notes.ts";

it("runs on Deno, and says so itself", () => {
  const { Deno } = globalThis as { Deno?: { version?: { deno?: string } } };
  const version = Deno?.version?.deno ?? "";
  expect(version).toMatch(/^2\./);
  noteOfRun({ runtime: { name: "Deno", version } });
});
