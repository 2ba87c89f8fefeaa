import { defineProtocol, type Protocol } from "../../engine/protocol.ts";
import { attachEtherscan } from "./attach.ts";
import { type EtherscanCall, parametersOf } from "./call.ts";
import { type EtherscanFace, etherscanFace } from "./face.ts";
import { judgeEtherscan } from "./judge.ts";
import { callerTokenOf, parseEtherscan } from "./parse.ts";
import { refuseEtherscan } from "./refuse.ts";

const METHODS = ["GET", "POST"];

/** The Etherscan API, v1 and v2, and the explorers that speak it (Blockscout, Routescan …). */
export const etherscanProtocol: Protocol<EtherscanCall, EtherscanFace> = defineProtocol<EtherscanCall, EtherscanFace>({
  name: "etherscan",
  routes: [
    { methods: METHODS, path: "/v2/api", parse: (request) => parseEtherscan(request, 2) },
    { methods: METHODS, path: "/api", parse: (request) => parseEtherscan(request, 1) },
  ],
  attach: attachEtherscan,
  weigh: () => 1,
  needs: needsOf,
  facts: factsOf,
  judge: judgeEtherscan,
  refuse: refuseEtherscan,
  callerToken: callerTokenOf,
  face: etherscanFace,
});

/** `chain:<id>` and `method:<module>.<action>`: plans differ in both. */
function needsOf(call: EtherscanCall): readonly string[] {
  const facts = factsOf(call);
  const needs = [`method:${facts["module"] ?? ""}.${facts["action"] ?? ""}`.toLowerCase()];
  return facts["chainid"] === undefined ? needs : [`chain:${facts["chainid"]}`, ...needs];
}

/** The engine asks for a call's facts more than once. */
const FACTS = new WeakMap<EtherscanCall, Readonly<Record<string, string>>>();

function factsOf(call: EtherscanCall): Readonly<Record<string, string>> {
  let facts = FACTS.get(call);
  if (facts === undefined) FACTS.set(call, (facts = readFacts(call)));
  return facts;
}

/** Every parameter by its name in lower case; of repeated ones the first, which is what explorers read. */
function readFacts(call: EtherscanCall): Readonly<Record<string, string>> {
  const facts = new Map<string, string>(call.version === 1 ? [["chainid", "1"]] : []);
  const given = new Set<string>();
  for (const [name, value] of parametersOf(call)) {
    const key = name.toLowerCase();
    if (given.has(key)) continue;
    given.add(key);
    facts.set(key, value);
  }
  return Object.fromEntries(facts);
}
