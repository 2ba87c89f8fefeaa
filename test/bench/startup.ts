import { join } from "node:path";
import { bundleWorker, startWorkerd, type WorkerSetup } from "../fixtures/workerd.ts";
import { printTable } from "./support/print-table.ts";
import { quantile } from "./support/quantile.ts";

/** With the same bindings, so that the difference is the kit's alone. */
const EMPTY = `
import { DurableObject } from "cloudflare:workers";
export class SluiceLedger extends DurableObject {}
export default { fetch: () => new Response("ok") };
`;
const GATEWAY = join(import.meta.dirname, "../fixtures/workers/gateway-worker.ts");
const TARGET_MS = 10;

/**
 * DESIGN number 5: how much longer a Worker with the gateway takes from workerd's start to its first answer than an
 * empty one, in paired spawns. `npm run bench -- startup [pairs]`
 */
export async function run([pairs = "40"]: string[]): Promise<void> {
  const bindings = {
    ledger: "SluiceLedger",
    kv: true,
    env: { ETHERSCAN_KEYS: "key-1,key-2", SLUICE_TOKENS: "a-token-0123456789" },
  };
  const script = await bundleWorker(GATEWAY, { minify: true });
  const startEmpty = (): Promise<number> => firstAnswer({ script: EMPTY, ...bindings });
  const startGateway = (): Promise<number> => firstAnswer({ script, ...bindings });
  // Not counted: the first ones read the binary from the disk.
  await startEmpty();
  await startGateway();
  const empty: number[] = [];
  const gateway: number[] = [];
  for (let i = 0; i < Number(pairs); i++) {
    // Each goes first in every other pair.
    if (i % 2 === 0) empty.push(await startEmpty());
    gateway.push(await startGateway());
    if (i % 2 === 1) empty.push(await startEmpty());
  }
  const more = gateway.map((ms, i) => ms - (empty[i] ?? Number.NaN));
  const row = (name: string, values: readonly number[]): string[] => [
    name,
    ...[0.25, 0.5, 0.75].map((q) => `${quantile(values, q).toFixed(1)} ms`),
  ];
  process.stdout.write(`${pairs} pairs of workerd, from its start to its first answer\n`);
  printTable(
    ["Worker", "quartile", "median", "quartile"],
    [row("empty", empty), row("gateway", gateway), row("more, in pairs", more)],
  );
  const met = quantile(more, 0.5) <= TARGET_MS;
  process.stdout.write(`target ≤ ${TARGET_MS} ms more in the median: ${met ? "met" : "missed"}\n`);
  if (!met) process.exitCode = 1;
}

async function firstAnswer(setup: WorkerSetup): Promise<number> {
  const start = performance.now();
  const workerd = await startWorkerd(setup);
  await (await fetch(`${workerd.urls[0]}-/health`)).text();
  const took = performance.now() - start;
  await workerd.stop();
  return took;
}
