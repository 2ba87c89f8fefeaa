import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { SCRIPT, SCRIPT_SHA } from "../../adapters/redis/script.ts";
import { sourceDigest } from "./lua/make-script.ts";
import { readText } from "./repository.ts";

it("the Redis script is made from the reducer as it is now: `npm run lua` makes it anew", () => {
  const text = readText("adapters/redis/script.ts");
  expect(text).toContain(`(${sourceDigest()})`);
});

it("the script has the name by which Redis knows it", () => {
  expect(SCRIPT_SHA).toBe(createHash("sha1").update(SCRIPT).digest("hex"));
});
