import { join } from "node:path";
import { afterAll } from "vitest";
import { bundleWorker, startWorkerd } from "../fixtures/workerd.ts";
import { innerTests, registerTests } from "../fixtures/workers/register-tests.ts";

const entry = join(import.meta.dirname, "../fixtures/workers/background-worker.ts");
const workerd = await startWorkerd({ script: await bundleWorker(entry, { plugins: [innerTests] }) });
afterAll(() => workerd.stop());

await registerTests("Cloudflare-Workers", (path, init) => fetch(new URL(path, workerd.urls[0]), init));
