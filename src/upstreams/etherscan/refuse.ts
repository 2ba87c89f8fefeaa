import type { SluiceError } from "../../errors.ts";

/** Our own error in the explorers' envelope, so that stock clients show it. */
export function refuseEtherscan(error: SluiceError): Response {
  const headers = new Headers({ "content-type": "application/json" });
  if (error.retryAfterMs !== undefined) headers.set("retry-after", String(Math.ceil(error.retryAfterMs / 1000)));
  const envelope = { status: "0", message: "NOTOK", result: error.message };
  return new Response(JSON.stringify(envelope), { status: error.status, headers });
}
