import { gatewayContract } from "../contract/gateway.ts";
import { serveOnDeno } from "../fixtures/deno-serve.ts";

gatewayContract("deno serve", (env) => serveOnDeno({ env }), { front: "platform" });
