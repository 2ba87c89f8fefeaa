import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "srvx";
import { useFastResponse } from "../../../adapters/node/fast-response.ts";
import { nodeTransport } from "../../../adapters/node/transport.ts";
import { bareProxy } from "./gateway-bare.ts";

/** The bare proxy on Node, on the gateway's server library, with its transport and its `Response`. */
useFastResponse();
const server = serve({
  fetch: bareProxy(process.argv[2] ?? "", nodeTransport),
  hostname: "127.0.0.1",
  port: 0,
  silent: true,
  gracefulShutdown: false,
});
await server.ready();
const http = server.node?.server as Server;
const { port } = http.address() as AddressInfo;
process.stdout.write(`listening on http://127.0.0.1:${port}\n`);
