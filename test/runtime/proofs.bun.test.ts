import { expect, it } from "vitest";
import { noteOfRun } from "../fixtures/run-notes.ts";

it("runs on Bun, and says so itself", () => {
  const { Bun } = globalThis as { Bun?: { version?: string } };
  const version = Bun?.version ?? "";
  expect(version).toMatch(/^1\./);
  noteOfRun({ runtime: { name: "Bun", version } });
});
