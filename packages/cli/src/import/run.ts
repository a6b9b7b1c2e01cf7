/** Runs an import: reads batches of the source, plans each job, writes it, and lets the source remove it. */
import type { JobForge } from "@jobforge/sdk-ts";
import type pg from "pg";
import { isRefusal, type Mapping, type PlannedJob, planJob, planSchedule, typeOf } from "./plan.ts";
import { Report } from "./report.ts";
import type { Source, SourceJob, SourceSchedule } from "./source.ts";
import { enqueueAll, ensureSchedule, type Target } from "./write.ts";

export interface ImportOptions {
  readonly dryRun: boolean;
  /** Leave what was imported in the source. */
  readonly keep: boolean;
  /** How many jobs are read, written and removed together. */
  readonly batch: number;
  readonly onProgress: (done: number) => void;
}

export async function importAll(
  forge: JobForge,
  source: Source,
  mapping: Mapping,
  options: ImportOptions,
): Promise<Report> {
  const report = new Report((name) => typeOf(name, mapping));
  const { dryRun, keep, batch, onProgress } = options;
  const targetOf = (client: pg.ClientBase | undefined): Target => ({
    forge: client === undefined ? forge : forge.with(client),
    transaction: client,
  });
  for (let done = 0; ; onProgress(done)) {
    const read = await source.next(batch, async (jobs, client) => {
      const planned = planAll(jobs, mapping, report);
      const taken = dryRun ? undefined : await writeJobs(targetOf(client), planned, report);
      if (taken === undefined) for (const { job } of planned) report.job(job, "created");
      return keep ? [] : (taken ?? []);
    });
    if (read === 0) break;
    done += read;
  }
  await source.schedules(async (schedules, client) => {
    const taken = await importSchedules(dryRun ? undefined : targetOf(client), schedules, mapping, report);
    return dryRun || keep ? [] : taken;
  });
  report.leaveAlone((await source.census()).left);
  return report;
}

function planAll(jobs: readonly SourceJob[], mapping: Mapping, report: Report): PlannedJob[] {
  return jobs.flatMap((job) => {
    const planned = planJob(job, mapping);
    if (!isRefusal(planned)) return [planned];
    report.refuse(job.name, job.id, planned.reason);
    return [];
  });
}

/** Returns the jobs that JobForge has now. */
async function writeJobs(
  target: Target,
  planned: readonly PlannedJob[],
  report: Report,
): Promise<SourceJob[]> {
  const taken: SourceJob[] = [];
  for (const [{ job }, result] of await enqueueAll(target, planned)) {
    if ("reason" in result) {
      report.refuse(job.name, job.id, result.reason);
    } else {
      report.job(job, result.outcome);
      taken.push(job);
    }
  }
  return taken;
}

/** Without a target, nothing is written. */
async function importSchedules(
  target: Target | undefined,
  schedules: readonly SourceSchedule[],
  mapping: Mapping,
  report: Report,
): Promise<SourceSchedule[]> {
  const taken: SourceSchedule[] = [];
  for (const schedule of schedules) {
    const planned = planSchedule(schedule, mapping);
    const result = isRefusal(planned)
      ? planned
      : target === undefined
        ? ({ outcome: "created" } as const)
        : await ensureSchedule(target, planned);
    if ("reason" in result) {
      report.refuse(schedule.name, schedule.key, result.reason);
    } else {
      report.schedule(schedule.name, result.outcome);
      taken.push(schedule);
    }
  }
  return taken;
}
