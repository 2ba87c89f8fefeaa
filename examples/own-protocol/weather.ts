import { defineProtocol, defineUpstream, retryAfterMs, SluiceError, type UpstreamDefinition } from "sluice";

/** One call, without a key. */
export interface WeatherCall {
  readonly city: string;
}

export interface Forecast {
  readonly city: string;
  readonly celsius: number;
}

/** What `sluice.upstream("weather")` offers in process. */
export interface WeatherFace {
  forecast(city: string): Promise<Forecast>;
}

/** All that the kit has to know of the API: how a request becomes a call, how a call is sent, what an answer means. */
const weatherProtocol = defineProtocol<WeatherCall, WeatherFace>({
  name: "weather",
  routes: [
    {
      methods: ["GET"],
      path: "/v1/forecast",
      parse({ url }) {
        const city = url.searchParams.get("city") ?? "";
        if (city === "") throw new SluiceError("request_invalid", "city: not given; write ?city=Oslo");
        return { city };
      },
    },
  ],
  attach: ({ city }, { baseUrl, credential = "" }) =>
    new Request(`${baseUrl}/v1/forecast?city=${encodeURIComponent(city)}`, {
      headers: { "x-api-key": credential },
      redirect: "manual",
    }),
  // One call is one unit of the quota, every key can do everything, and `judge` needs no more than the answer.
  weigh: () => 1,
  needs: () => [],
  facts: () => ({}),
  judge({ status, headers }) {
    switch (status) {
      case 200:
        return { class: "ok", scope: "request", reason: "data" };
      case 429: {
        // Another key takes the call over; this one rests for as long as the API asks.
        const asked = new Headers(headers);
        const wait = retryAfterMs(asked.get("retry-after"), asked.get("date")) ?? 10_000;
        return { class: "rate_limited_second", scope: "key", reason: "too_many_calls", retryAfterMs: wait };
      }
      case 403:
        return { class: "key_invalid", scope: "key", reason: "bad_key" };
      case 400:
      case 404:
        // The caller's own mistake: no other key would answer otherwise.
        return { class: "caller_fault", scope: "request", reason: "bad_request" };
      default:
        return { class: "network", scope: "key", reason: "unexpected_status" };
    }
  },
  // Errors of the gateway in the form of the API's own; headers such as Retry-After come by themselves.
  refuse: (error) => Response.json({ error: error.message }, { status: error.status }),
  face: (send) => ({
    async forecast(city) {
      const { status, body } = await send({ city });
      if (status !== 200) throw new Error(`The weather in ${city}: HTTP ${status}.`);
      return JSON.parse(new TextDecoder().decode(body)) as Forecast;
    },
  }),
});

/** A pool of keys: five calls of one key in any ten seconds. */
export function weather(
  keys: string | undefined,
  baseUrl = "https://weather.example",
): UpstreamDefinition<WeatherCall, WeatherFace> {
  return defineUpstream(weatherProtocol, {
    setting: "WEATHER_KEYS",
    keys,
    baseUrl,
    calls: 5,
    perMs: 10_000,
    jitterMs: 500,
    maxWaitMs: 60_000,
  });
}
