import { defineSluice } from "sluice";
import { weather } from "./weather.ts";

export default defineSluice((env) => ({
  upstreams: { weather: weather(env.WEATHER_KEYS, env.WEATHER_BASE_URL) },
  callers: { tokens: env.SLUICE_TOKENS },
  admin: { token: env.SLUICE_ADMIN_TOKEN },
}));
