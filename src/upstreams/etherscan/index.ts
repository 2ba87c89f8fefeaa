export type { EtherscanCall } from "./call.ts";
export { etherscan } from "./definition.ts";
export type { EtherscanFace, EtherscanParams } from "./face.ts";
export { judgeEtherscan } from "./judge.ts";
export { applyKeyGroups, applyKeySlice } from "./key-slice.ts";
export type { EtherscanOptions } from "./options.ts";
export { etherscanProtocol } from "./protocol.ts";
