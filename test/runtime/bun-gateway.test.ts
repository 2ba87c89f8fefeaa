import { gatewayContract } from "../contract/gateway.ts";
import { serveOnBun } from "../fixtures/bun-serve.ts";

gatewayContract("bun run", serveOnBun, { front: "platform", seesTargetHost: false });
