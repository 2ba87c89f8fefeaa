import { defineSluice, etherscan } from "sluice";

/** itty-router keeps the prefix, so the gateway has to know it. */
export default defineSluice((env) => ({
  basePath: "/upstream",
  upstreams: { etherscan: etherscan({ keys: env.ETHERSCAN_KEYS, baseUrls: env.ETHERSCAN_BASE_URLS }) },
  callers: { tokens: env.SLUICE_TOKENS },
  admin: { token: env.SLUICE_ADMIN_TOKEN },
}));
