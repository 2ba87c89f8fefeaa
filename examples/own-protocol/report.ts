import { createRedactor, createSluice, secretsOf } from "sluice";
import { nodePlatform, sqliteLedger } from "sluice/node";
import config from "./sluice.config.ts";

// In process, without an HTTP hop. By the state file it shares the keys with a gateway that runs beside it.
const settings = config(process.env);
const redact = createRedactor(secretsOf(settings));
const ledger = sqliteLedger({ path: ".sluice/state.db" });
const report = (text: string) => console.error(redact(text));
const sluice = createSluice(
  settings,
  nodePlatform({
    ledger,
    events: { emit: (event) => report(JSON.stringify(event)) },
    report: (e) => report(String(e)),
  }),
);
const cities = process.argv.slice(2);
const forecasts = await Promise.all(cities.map((city) => sluice.upstream("weather").forecast(city)));
for (const { city, celsius } of forecasts) console.log(`${city}: ${celsius} °C`);
await sluice.close();
await ledger.close?.();
