import { readdirSync } from "node:fs";

/** Each bench is a file of this folder that exports `run(args)`; `npm run bench -- <name> [args]` runs one. */
interface Bench {
  run(args: string[]): unknown;
}

const isBench = (module: unknown): module is Bench =>
  typeof module === "object" && module !== null && "run" in module && typeof module.run === "function";

const here = import.meta.dirname;
const names = readdirSync(here, { withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && entry.name !== "main.ts")
  .map((entry) => entry.name.slice(0, -".ts".length))
  .sort();
const listed = names.length === 0 ? "there is none yet" : names.join(", ");

const [name, ...args] = process.argv.slice(2);
if (name === undefined) {
  process.stdout.write(`Usage: npm run bench -- <name> [arguments]\nBenches: ${listed}\n`);
} else if (!names.includes(name)) {
  process.stderr.write(`No bench is called "${name}". Benches: ${listed}\n`);
  process.exitCode = 2;
} else {
  const module: unknown = await import(`./${name}.ts`);
  if (isBench(module)) {
    await module.run(args);
  } else {
    process.stderr.write(`test/bench/${name}.ts must export a function run(args: string[]).\n`);
    process.exitCode = 2;
  }
}
