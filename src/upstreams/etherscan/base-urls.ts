import { SluiceError } from "../../errors.ts";
import { splitEntries } from "./keys.ts";

const DEFAULT_URL = "https://api.etherscan.io/v2/api";
const DEFAULT_PATH = "/v2/api";

/** The base URL of every key, in the keys' order. Throws `config_invalid`; no message holds a part of a URL. */
export function parseBaseUrls(value: string | readonly string[] | undefined, keys: number): readonly string[] {
  const entries = splitEntries(value, "baseUrls");
  const urls = entries.length === 0 ? [DEFAULT_URL] : entries.map(parseBaseUrl);
  if (urls.length > Math.max(keys, 1)) {
    throw new SluiceError(
      "config_invalid",
      `baseUrls (ETHERSCAN_BASE_URLS) has ${urls.length} entries for ${keys} keys; write one a key, or fewer to spread over the keys.`,
    );
  }
  return Array.from({ length: keys }, (_, index) => urls[index % urls.length] ?? DEFAULT_URL);
}

function parseBaseUrl(text: string, index: number): string {
  const name = `baseUrls[${index}] (ETHERSCAN_BASE_URLS)`;
  if (!URL.canParse(text)) {
    throw new SluiceError("config_invalid", `${name} is not a URL; write it as ${DEFAULT_URL}`);
  }
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new SluiceError("config_invalid", `${name} is neither http nor https; write it as ${DEFAULT_URL}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new SluiceError("config_invalid", `${name} has a user or password in it; write it without.`);
  }
  if ([...url.searchParams.keys()].some((key) => key.toLowerCase() === "apikey")) {
    throw new SluiceError("config_invalid", `${name} has an apikey in it; remove it and set keys (ETHERSCAN_KEYS).`);
  }
  url.hash = "";
  if (url.pathname === "/") url.pathname = DEFAULT_PATH;
  else url.pathname = url.pathname.replace(/\/+$/, "");
  return url.href;
}
