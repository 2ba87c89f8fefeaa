import { installPeer } from "./install-peer.ts";
import { type Contestant, isAnswer, urlOf } from "./nine-keys.ts";

const NAME = "@mik3fly-lab/etherscan-broker";
const VERSION = "0.1.0";

type Params = Record<string, string>;
type QuotaKind = "per_sec" | "daily" | "invalid_key";

/** What we use of the package, after its own type declarations. */
interface BrokerPackage {
  createBroker<T>(options: {
    keys: string[];
    baseUrls: string[];
    transport: (key: string, baseUrl: string, module: string, action: string, params: Params) => Promise<T>;
  }): { call(module: string, action: string, params?: Params): Promise<T> };
  classifyQuotaError(raw: string): { kind: QuotaKind; observedLimit: number | null } | null;
  readonly EtherscanQuotaError: new (kind: QuotaKind, raw: string, observedLimit: number | null) => Error;
  readonly EtherscanFatalError: new (message: string) => Error;
}

/** The published broker that this one grew from; a text says why it cannot be had. */
export async function publishedBroker(): Promise<Contestant | string> {
  const peer = await installPeer(NAME, VERSION);
  if (peer.kind === "missing") return `${NAME}@${VERSION} is left out: ${peer.why}.`;
  const { module } = peer;
  if (!isBrokerPackage(module)) return `${NAME}@${VERSION} is left out: it exports something else than expected.`;
  return { name: `etherscan-broker ${VERSION}`, usesGlobals: true, start: (pool) => startBroker(module, pool) };
}

/** As its documentation says: defaults, and a transport that turns refusals into its own error classes. */
function startBroker(broker: BrokerPackage, pool: Parameters<Contestant["start"]>[0]): ReturnType<Contestant["start"]> {
  const { keys, baseUrl, transport } = pool;
  const { call } = broker.createBroker<boolean>({
    keys: [...keys],
    baseUrls: [baseUrl],
    async transport(key, outlet, module, action, params) {
      const response = await transport(new Request(urlOf(outlet, key, { module, action, ...params })));
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      const answer: unknown = await response.json();
      if (isAnswer(answer)) return true;
      const said = resultOf(answer);
      const quota = broker.classifyQuotaError(said);
      if (quota !== null) throw new broker.EtherscanQuotaError(quota.kind, said, quota.observedLimit);
      throw new broker.EtherscanFatalError(said);
    },
  });
  return { arm: (address) => call("account", "balance", { address }), close: () => Promise.resolve() };
}

function resultOf(answer: unknown): string {
  return typeof answer === "object" && answer !== null && "result" in answer && typeof answer.result === "string"
    ? answer.result
    : "";
}

function isBrokerPackage(module: unknown): module is BrokerPackage {
  const names = ["createBroker", "classifyQuotaError", "EtherscanQuotaError", "EtherscanFatalError"];
  return (
    typeof module === "object" &&
    module !== null &&
    names.every((name) => typeof Reflect.get(module, name) === "function")
  );
}
