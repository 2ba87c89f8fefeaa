import { createTokenSet, type Env, type JobReport, problem, SluiceError } from "../../src/index.ts";

/** The path that `vercel.json` names under `crons`; a `basePath` does not move it. */
export const CRON_PATH = "/-/cron";

/**
 * Vercel's cron calls like anybody else and shows `CRON_SECRET` as a bearer: without that variable nobody gets in, or
 * everybody could. Returns null for requests to other paths.
 */
export function createCron(
  env: Env,
  run: () => Promise<readonly JobReport[]>,
): (request: Request) => Promise<Response | null> {
  const secret = env["CRON_SECRET"]?.trim() ?? "";
  const tokens = secret === "" ? null : createTokenSet([secret]);
  return async (request) => {
    if (new URL(request.url).pathname !== CRON_PATH) return null;
    if (request.method !== "GET") {
      return problem(
        new SluiceError("method_not_allowed", "The jobs are run by GET.", { facts: { allow: ["GET"] } }),
        "cron",
      );
    }
    if (tokens === null) return problem(new SluiceError("admin_only", UNSET, { status: 503 }), "cron");
    const presented = /^bearer +(.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
    if (!(await tokens.has(presented))) return problem(new SluiceError("admin_only", WRONG), "cron");
    const jobs = await run();
    return Response.json(
      { jobs },
      { status: jobs.every(({ ok }) => ok) ? 200 : 500, headers: { "cache-control": "no-store" } },
    );
  };
}

const UNSET =
  "CRON_SECRET is not set, so nobody may run the jobs: set it by `vercel env add CRON_SECRET production` to a random text " +
  "(`openssl rand -hex 32`) and deploy again; Vercel's cron then shows it.";
const WRONG = "The jobs are run by Vercel's cron, which shows CRON_SECRET as `Authorization: Bearer …`.";
