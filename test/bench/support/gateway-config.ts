import { defineSluice, etherscan, type SluiceFactory } from "../../../src/index.ts";

/** What the gateway is measured with: the environment's keys, each with a ceiling that no machine reaches. */
const config: SluiceFactory = defineSluice((env) => ({
  upstreams: {
    etherscan: etherscan({
      keys: env["ETHERSCAN_KEYS"],
      baseUrls: env["ETHERSCAN_BASE_URLS"],
      callsPerSec: 10_000,
      dailyCap: null,
    }),
  },
  callers: { tokens: env["SLUICE_TOKENS"] },
}));

export default config;
