/**
 * One call of the Etherscan API, without a credential. The query and the body are kept as the text and the bytes that
 * the client sent, so that order, repeats and encoding reach the upstream untouched.
 */
export interface EtherscanCall {
  readonly method: "GET" | "POST";
  /** A call in the v1 form says no chain: it means Ethereum mainnet. */
  readonly version: 1 | 2;
  /** Without `?` and without `apikey`. */
  readonly query: string;
  /** A POST's body; a form comes without `apikey`. */
  readonly body: EtherscanBody | null;
  readonly accept: string | null;
}

export type EtherscanBody =
  | { readonly kind: "form"; readonly text: string; readonly contentType: string }
  | { readonly kind: "other"; readonly bytes: Uint8Array<ArrayBuffer>; readonly contentType: string | null };

/** The call's parameters as the upstream reads them: the query's, then the form's. */
export function parametersOf(call: EtherscanCall): URLSearchParams {
  const parameters = new URLSearchParams(call.query);
  if (call.body?.kind !== "form") return parameters;
  for (const [name, value] of new URLSearchParams(call.body.text)) parameters.append(name, value);
  return parameters;
}
