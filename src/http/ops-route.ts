/** A request for an operations route, already let in. */
export interface OpsRequest {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
}

/** A route below `/-/`. Errors thrown in `answer` become problem documents. */
export interface OpsRoute {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly access: "open" | "operator";
  answer(request: OpsRequest): Response | Promise<Response>;
}
