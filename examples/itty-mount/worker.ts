import { createSluice } from "sluice";
import { durableLedger, type LedgerNamespace, workerBackground, workerClock } from "sluice/cloudflare";
import { createApp } from "./app.ts";
import config from "./sluice.config.ts";

export { SluiceLedger } from "sluice/cloudflare";

interface Bindings {
  readonly SLUICE_LEDGER: LedgerNamespace;
  readonly ETHERSCAN_KEYS: string;
  readonly ETHERSCAN_BASE_URLS?: string;
  readonly SLUICE_TOKENS: string;
  readonly SLUICE_ADMIN_TOKEN: string;
}

const clock = workerClock(workerBackground);
let app: ReturnType<typeof createApp> | undefined;

export default {
  async fetch(request: Request, env: Bindings): Promise<Response> {
    const { SLUICE_LEDGER, ...settings } = env;
    app ??= createApp(
      createSluice(config(settings), {
        ledger: durableLedger(SLUICE_LEDGER, workerBackground),
        clock,
        transport: (outgoing, init) => fetch(outgoing, init),
        background: workerBackground,
        events: { emit: (event) => console.log(JSON.stringify(event)) },
      }),
    );
    // A Worker's timers die with their requests: whoever is under way runs what another's left undone.
    const unwatch = clock.watch();
    try {
      return (await app.fetch(request)) as Response;
    } finally {
      unwatch();
    }
  },
};
