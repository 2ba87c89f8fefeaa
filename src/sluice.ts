import { weakTokens } from "./callers/weak-tokens.ts";
import { parseConfig, secretsOf, type SluiceConfig, type Upstreams } from "./config.ts";
import type { UpstreamDefinition } from "./engine/definition.ts";
import { createUpstream, type RunningUpstream } from "./engine/create-upstream.ts";
import type { UpstreamStats } from "./engine/stats.ts";
import type { Upstream } from "./engine/upstream.ts";
import { SluiceError } from "./errors.ts";
import { createEventFeed } from "./http/event-feed.ts";
import { createHandler } from "./http/router.ts";
import type { JobReport } from "./jobs/job.ts";
import { runJobs } from "./jobs/run-jobs.ts";
import { sweepJob } from "./jobs/sweep.ts";
import { createRedactor } from "./lib/redact.ts";
import type { SluiceEvent } from "./ports/events.ts";
import type { Platform } from "./ports/platform.ts";
import { VERSION } from "./version.ts";

type CallOf<D> = D extends UpstreamDefinition<infer Call, infer _Face> ? Call : never;
type FaceOf<D> = D extends UpstreamDefinition<infer _Call, infer Face> ? Face : never;

/** An upstream in process: the members that all have, and its protocol's own (`call` for Etherscan). */
export type UpstreamInProcess<D> = Upstream<CallOf<D>> & FaceOf<D>;

export interface Sluice<U extends Upstreams = Upstreams> {
  /** Answers a request; never throws. A closure, so that it can be handed to any framework; further arguments are ignored. */
  readonly fetch: (request: Request, ...rest: unknown[]) => Promise<Response>;
  /** What is to be done now and then; a platform's cron calls it. Never throws: a job that failed is a report. */
  readonly scheduled: () => Promise<readonly JobReport[]>;
  /** Throws `config_invalid` for a name that is not configured. */
  upstream<K extends keyof U & string>(name: K): UpstreamInProcess<U[K]>;
  stats(): readonly UpstreamStats[];
  /** What is configured and what is missing, a line each, for people. */
  describe(): readonly string[];
  /** Refuses waiting calls, gives leases back, settles the rest. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Puts a configuration to work on a platform. Throws `config_invalid`.
 *
 * @example
 * ```ts
 * import { createSluice, etherscan } from "@sluice/sluice";
 * import { memoryPlatform } from "@sluice/sluice/memory";
 *
 * const clock = {
 *   now: Date.now,
 *   random: Math.random,
 *   after(ms: number, run: () => void) {
 *     const timer = setTimeout(run, ms);
 *     return () => clearTimeout(timer);
 *   },
 * };
 * const sluice = createSluice(
 *   { upstreams: { etherscan: etherscan({ keys: "key1,key2,key3" }) }, callers: "public" },
 *   memoryPlatform({ clock, transport: fetch }),
 * );
 * const answer = await sluice.fetch(new Request("http://gateway/-/health"));
 * console.assert(answer.ok);
 * await sluice.close();
 * ```
 */
export function createSluice<U extends Upstreams>(config: SluiceConfig<U>, platform: Platform): Sluice<U> {
  const { upstreams, callers, admin, cors, limits, basePath } = parseConfig(config);
  const { clock } = platform;
  const feed = createEventFeed();
  const emit = (event: SluiceEvent) => {
    feed.emit(event);
    platform.events.emit(event);
  };
  const running = new Map<string, RunningUpstream<unknown, object>>();
  for (const [name, definition] of Object.entries(upstreams)) {
    running.set(name, createUpstream(name, definition, platform, emit));
  }
  for (const detail of [...(platform.warnings ?? []), ...weakTokens(callers, admin)]) {
    emit({ type: "config_warning", at: clock.now(), upstream: "-", detail });
  }
  const redact = createRedactor(secretsOf(config));
  const jobs = [sweepJob(platform.ledger, [...running.keys()])];
  const handle = createHandler({
    upstreams: [...running.values()],
    clock,
    feed,
    version: VERSION,
    callers,
    admin,
    cors,
    limits,
    basePath,
    peer: platform.peer?.bind(platform),
    howToSet: platform.howToSet?.bind(platform),
    report: platform.report?.bind(platform),
  });
  return {
    fetch: (request) => handle(request),
    async scheduled() {
      const reports = await runJobs(jobs, redact);
      for (const report of reports) emit({ type: "job_ended", at: clock.now(), upstream: "-", ...report });
      return reports;
    },
    upstream<K extends keyof U & string>(name: K): UpstreamInProcess<U[K]> {
      const found = running.get(name);
      if (found === undefined) {
        const known = [...running.keys()].join(", ");
        throw new SluiceError("config_invalid", `There is no upstream "${name}"; configured are: ${known}.`);
      }
      // The record's values lost their types when they became one kind; the name brings the right one back.
      return {
        ...found,
        ...found.protocol.face((call, options) => found.send(call, options)),
      } as unknown as UpstreamInProcess<U[K]>;
    },
    stats: () => [...running.values()].map((upstream) => upstream.stats()),
    describe: () => [...running.values()].map(describe),
    async close() {
      await Promise.all([...running.values()].map((upstream) => upstream.close()));
      feed.close();
    },
  };
}

function describe({ name, definition }: RunningUpstream<unknown, object>): string {
  if (definition.missing !== null) return `${name}: not configured, set ${definition.missing}`;
  const buckets = new Set(definition.targets.map((target) => target.bucket)).size;
  const rate = buckets * definition.terms.limit;
  return `${name}: ${definition.targets.length} targets in ${buckets} buckets, up to ${rate} calls/s`;
}
