import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** An upstream that costs next to nothing: every request gets one small answer of Etherscan's at once. */
const BODY = Buffer.from('{"status":"1","message":"OK","result":"40891626854930000000999"}');
const HEAD = { "content-type": "application/json; charset=utf-8", "content-length": String(BODY.length) };

const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, HEAD).end(BODY);
});
// It must not hang up in a pause of the bench: the next call would meet a dead connection.
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
