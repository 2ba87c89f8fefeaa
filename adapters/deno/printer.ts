import type { DenoRuntime } from "./runtime.ts";

/** Prints the event log's lines of JSON as they are, or on a terminal as a person reads them. */
export function printerOf(runtime: DenoRuntime): (line: string) => void {
  return runtime.stderr.isTerminal() ? (line) => console.error(toReadable(line)) : (line) => console.log(line);
}

export function toReadable(line: string): string {
  const { at, upstream, type, ...facts } = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const head = [typeof at === "number" ? new Date(at).toISOString() : "", upstream, type].filter((word) => word);
  const rest = Object.entries(facts).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return [...head, ...rest].join(" ");
}
