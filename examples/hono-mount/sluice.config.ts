import { defineSluice, etherscan } from "sluice";

/** Behind a mount nobody looks like this machine: say who may call. Hono strips the prefix, so there is no `basePath`. */
export default defineSluice((env) => ({
  upstreams: { etherscan: etherscan({ keys: env.ETHERSCAN_KEYS, baseUrls: env.ETHERSCAN_BASE_URLS }) },
  callers: { tokens: env.SLUICE_TOKENS },
  admin: { token: env.SLUICE_ADMIN_TOKEN },
}));
