import { createRedactor, createSluice, secretsOf } from "sluice";
import { nodePlatform, sqliteLedger } from "sluice/node";
import { serve } from "srvx";
import { createApp } from "./app.ts";
import config from "./sluice.config.ts";

// Node, Deno and Bun alike.
const settings = config(process.env);
const redact = createRedactor(secretsOf(settings));
const ledger = sqliteLedger({ path: process.env["SLUICE_STATE"] ?? ".sluice/state.db" });
const sluice = createSluice(
  settings,
  nodePlatform({
    ledger,
    events: { emit: (event) => console.log(redact(JSON.stringify(event))) },
    report: (thrown, requestId) => console.error(redact(`fault in request ${requestId}: ${String(thrown)}`)),
  }),
);
const server = serve({
  fetch: createApp(sluice).fetch,
  hostname: "127.0.0.1",
  port: Number(process.env["PORT"] ?? 3000),
  silent: true,
  gracefulShutdown: false,
});
await server.ready();
console.log(`listening on ${server.url}`);

async function stop(): Promise<void> {
  // Waiting calls are refused first: they hold connections that would otherwise be waited for.
  await sluice.close();
  await server.close();
  await ledger.close?.();
  process.exit();
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void stop());
