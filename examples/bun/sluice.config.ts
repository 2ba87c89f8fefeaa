import { defineSluice, etherscan } from "sluice";

/** The same file serves every platform: `env` holds its variables and secrets. */
export default defineSluice((env) => ({
  upstreams: {
    etherscan: etherscan({
      keys: env.ETHERSCAN_KEYS,
      baseUrls: env.ETHERSCAN_BASE_URLS,
      groups: env.ETHERSCAN_KEY_GROUPS,
    }),
  },
  callers: { tokens: env.SLUICE_TOKENS },
  admin: { token: env.SLUICE_ADMIN_TOKEN },
}));
