import type { BunRuntime } from "./runtime.ts";

/** Prints a gateway's lines as they are, or, on a terminal, events as a person reads them. */
export function printerOf(runtime: BunRuntime | undefined): (line: string) => void {
  return runtime?.process.stderr.isTTY === true
    ? (line) => console.error(toReadable(line))
    : (line) => console.log(line);
}

export function toReadable(line: string): string {
  if (!line.startsWith("{")) return line;
  const { at, upstream, type, ...facts } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const head = [typeof at === "number" ? new Date(at).toISOString() : "", upstream, type].filter(Boolean);
  const rest = Object.entries(facts).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return [...head, ...rest].join(" ");
}
