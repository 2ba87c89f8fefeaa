import { afterAll } from "vitest";
import { divertUncaught } from "../fixtures/divert-uncaught.ts";
import { bundleEdge, startEdge } from "../fixtures/edge-runtime.ts";
import { innerTests, registerTests } from "../fixtures/workers/register-tests.ts";

const FUNCTION = `
import { answerTests } from "../fixtures/workers/function-tests.ts";
addEventListener("fetch", (event) => event.respondWith(answerTests(event.request)));
`;

// The runtime lives in this process: what a test in it lets fall is its own runner's to judge, by its own events.
const uncaught = divertUncaught();
const edge = await startEdge(await bundleEdge(FUNCTION, import.meta.dirname, [innerTests]), {});
afterAll(async () => {
  await edge.stop();
  uncaught.restore();
});

await registerTests("edge-runtime", (path, init) => fetch(edge.url + path, init));
