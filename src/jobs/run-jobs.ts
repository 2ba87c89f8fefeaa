import type { Job, JobReport } from "./job.ts";

/** Runs one after the other: a platform that counts what a scheduled run may do counts them together. One that fails stops no other. */
export async function runJobs(jobs: readonly Job[], redact: (text: string) => string): Promise<readonly JobReport[]> {
  const reports: JobReport[] = [];
  for (const job of jobs) {
    try {
      reports.push({ job: job.name, ok: true, detail: await job.run() });
    } catch (error) {
      reports.push({
        job: job.name,
        ok: false,
        detail: redact(error instanceof Error ? error.message : String(error)),
      });
    }
  }
  return reports;
}
