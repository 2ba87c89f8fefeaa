import { gatewayContract } from "../contract/gateway.ts";
import { startGateway } from "../fixtures/gateway-process.ts";

gatewayContract("Node", startGateway);
