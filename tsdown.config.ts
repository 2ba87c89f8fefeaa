import { readFileSync } from "node:fs";
import { defineConfig } from "tsdown";

const { exports } = JSON.parse(readFileSync(new URL("deno.json", import.meta.url), "utf8")) as {
  exports: Record<string, string>;
};

// One build for all entries, so that they share their chunks: two copies of the error class would break `instanceof`.
export default defineConfig({
  entry: Object.fromEntries(
    Object.entries(exports).map(([key, source]) => [key === "." ? "index" : key.slice("./".length), source]),
  ),
  format: "esm",
  platform: "neutral",
  target: "es2024",
  tsconfig: "adapters/tsconfig.json",
  dts: true,
  fixedExtension: false,
  deps: { neverBundle: [/^(node|cloudflare):/] },
  report: false,
});
