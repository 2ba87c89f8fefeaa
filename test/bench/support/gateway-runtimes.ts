import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { npmScript } from "../../fixtures/npm-script.ts";
import { type Child, startChild } from "./gateway-child.ts";

/** A runtime to measure on. Each server is a process of its own, on a free port, in front of the upstream at `upstream`. */
export interface Runtime {
  readonly name: string;
  /** The least part of the bare proxy's throughput that the gateway must reach (DESIGN number 4). */
  readonly target: number;
  startGateway(upstream: string): Promise<Child>;
  startBare(upstream: string): Promise<Child>;
}

const KEYS = 50;
export const TOKEN = "token-of-the-bench-0123456789";

/** What configures the gateway, whatever it runs on. */
export function gatewayEnv(upstream: string): Readonly<Record<string, string>> {
  return {
    ETHERSCAN_KEYS: Array.from({ length: KEYS }, (_, i) => `BENCH${String(i).padStart(29, "0")}`).join(","),
    ETHERSCAN_BASE_URLS: `${upstream}/v2/api`,
    SLUICE_TOKENS: TOKEN,
  };
}

export function startUpstream(): Promise<Child> {
  return startChild([fileURLToPath(new URL("./gateway-upstream-main.ts", import.meta.url))]);
}

/** What `npm start` runs, with its state in a file. */
const node: Runtime = {
  name: "Node",
  target: 0.85,
  async startGateway(upstream) {
    const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"));
    const child = await startChild(npmScript("start"), {
      ...gatewayEnv(upstream),
      SLUICE_CONFIG: fileURLToPath(new URL("./gateway-config.ts", import.meta.url)),
      SLUICE_STATE: join(folder, "state.db"),
      PORT: "0",
    });
    return {
      ...child,
      async stop() {
        await child.stop();
        rmSync(folder, { recursive: true });
      },
    };
  },
  startBare: (upstream) =>
    startChild([fileURLToPath(new URL("./gateway-bare-node-main.ts", import.meta.url)), upstream]),
};

/** Workers under miniflare, reached without its entry in between; the ledger is a Durable Object. */
const workerd: Runtime = {
  name: "workerd",
  target: 0.85,
  startGateway: (upstream) => startWorker("gateway", upstream),
  startBare: (upstream) => startWorker("bare", upstream),
};

async function startWorker(which: string, upstream: string): Promise<Child> {
  const main = fileURLToPath(new URL("./gateway-workerd-main.ts", import.meta.url));
  const child = await startChild([main, which, upstream]);
  // The work is done by workerd, of which miniflare tells no process id.
  return { ...child, cpuMs: () => Number.NaN };
}

export const RUNTIMES: readonly Runtime[] = [node, workerd];
