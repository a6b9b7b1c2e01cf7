/**
 * The metrics at /metrics. Metrics of jobs and workers are read from the database for each request, so they cover the
 * whole system and are the same at every server. The other metrics are those of this server.
 */
import { jobStatuses, type WorkerStatus } from "@jobforge/sdk-ts";
import { latencyBins } from "@jobforge/worker-ts";
import type { MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { type ApiSession, apiSession } from "../calls.ts";
import type { Environment, Services } from "../services.ts";
import { TimeHistogram } from "./histogram.ts";
import { processMetrics } from "./process.ts";
import { type WorkerReport, WorkerReports } from "./reports.ts";
import { type Labels, rest, Series } from "./series.ts";

/** The upper limits of the bins of histograms, in seconds. */
const binLimits = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];

/** The result of jobforge_metrics. */
interface Figures {
  readonly until: string;
  readonly jobs: readonly (Owner & {
    readonly queued: number;
    readonly scheduled: number;
    readonly running: number;
    readonly oldest_seconds: number;
  })[];
  readonly schedules: readonly (Owner & { readonly due: number; readonly oldest_seconds: number })[];
  readonly ended: readonly (Owner & { readonly status: string; readonly jobs: number })[];
  readonly wait: readonly Bin[];
  readonly run: readonly Bin[];
  readonly workers: Readonly<Record<WorkerStatus, number>>;
  readonly reports: readonly WorkerReport[];
  readonly maintenance: Readonly<Record<string, number>>;
}

interface Owner {
  readonly type: string;
  readonly tenant_id: string | null;
}

interface Bin {
  readonly type: string;
  readonly jobs: number;
  /** The mean of the jobs in this bin. */
  readonly seconds: number;
}

export class Metrics {
  readonly #services: Services;
  readonly #registry = new Registry();
  readonly #tenants: boolean;
  readonly #jobs: Gauge;
  readonly #oldest: Gauge;
  readonly #schedules: Gauge;
  readonly #oldestSchedule: Gauge;
  readonly #ended: Counter;
  readonly #endedSeries: Series;
  readonly #wait: TimeHistogram;
  readonly #waitSeries: Series;
  readonly #run: TimeHistogram;
  readonly #runSeries: Series;
  readonly #claim: TimeHistogram;
  readonly #settle: TimeHistogram;
  readonly #stale: Counter;
  readonly #handed: Counter;
  readonly #reports = new WorkerReports();
  readonly #dropped: Counter;
  readonly #workers: Gauge;
  readonly #maintenance: Gauge;
  readonly #pool: Gauge;
  readonly #streams: Gauge;
  readonly #xmin: Gauge;
  readonly #requests: Histogram;
  #since: string | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(services: Services) {
    this.#services = services;
    this.#tenants = services.settings.metrics?.tenantLabels ?? false;
    const registers = [this.#registry];
    const tenant = this.#tenants ? ["tenant_id"] : [];
    const gauge = (name: string, help: string, labelNames: string[] = []): Gauge =>
      new Gauge({ name: `jobforge_${name}`, help, labelNames, registers });
    const histogram = (name: string, help: string, limits: readonly number[]): TimeHistogram =>
      new TimeHistogram(this.#registry, `jobforge_${name}`, help, limits);
    this.#jobs = gauge("jobs", "Live jobs: queued (due), scheduled (due later), running", [
      "type",
      "status",
      ...tenant,
    ]);
    this.#oldest = gauge("oldest_waiting_seconds", "How long the oldest due job has been waiting", [
      "type",
      ...tenant,
    ]);
    this.#schedules = gauge(
      "due_schedules",
      "Schedules that are due, of which no worker has made a job yet",
      ["type", ...tenant],
    );
    this.#oldestSchedule = gauge(
      "oldest_schedule_seconds",
      "How long the first of these schedules has been due",
      ["type", ...tenant],
    );
    this.#ended = new Counter({
      name: "jobforge_jobs_ended_total",
      help: "Jobs that finished since the first request for metrics to this server",
      labelNames: ["type", "status", ...tenant],
      registers,
    });
    this.#wait = histogram(
      "job_wait_seconds",
      "Time from when a job was due to the start of its last run",
      binLimits,
    );
    this.#run = histogram("job_run_seconds", "Duration of the last run of finished jobs", binLimits);
    this.#claim = histogram("claim_seconds", "Duration of workers' calls that claim jobs", latencyBins);
    this.#settle = histogram("settle_seconds", "Duration of workers' calls that settle runs", latencyBins);
    this.#stale = new Counter({
      name: "jobforge_stale_ends_total",
      help: "Ends of runs that were refused because the lease was lost",
      registers,
    });
    this.#handed = new Counter({
      name: "jobforge_handed_jobs_total",
      help: "Jobs that enqueues have handed to idle workers, without a claim",
      registers,
    });
    this.#dropped = new Counter({
      name: "jobforge_metrics_series_dropped_total",
      help: 'Series that were removed because they no longer changed, and changes that were added to type "*" because a metric was full',
      labelNames: ["reason"],
      registers,
    });
    this.#endedSeries = this.#series((labels) => {
      for (const status of jobStatuses) this.#ended.remove({ ...labels, status });
    });
    this.#waitSeries = this.#series((labels) => this.#wait.remove(labels));
    this.#runSeries = this.#series((labels) => this.#run.remove(labels));
    this.#workers = gauge(
      "workers",
      "Workers by heartbeat: alive, or gone for up to one day without having stopped",
      ["status"],
    );
    this.#maintenance = gauge(
      "maintenance_failures",
      "How often a maintenance task has failed in a row; 0 after a success",
      ["task"],
    );
    this.#pool = gauge(
      "pool_connections",
      "This server's connections to the database, and requests that wait for one",
      ["state"],
    );
    this.#streams = gauge("streams", "Groups of live streams with the same token and filter at this server");
    this.#xmin = gauge(
      "xmin_age_transactions",
      "Age of the oldest snapshot, which prevents vacuum from removing dead rows",
    );
    this.#requests = new Histogram({
      name: "jobforge_http_request_seconds",
      help: "Duration of requests to this server",
      labelNames: ["method", "route", "status"],
      buckets: binLimits,
      registers,
    });
  }

  /** Measures the duration of requests. */
  get middleware(): MiddlewareHandler<Environment> {
    return async (c, next) => {
      const started = performance.now();
      await next();
      const labels = { method: c.req.method, route: routePath(c, -1), status: String(c.res.status) };
      this.#requests.observe(labels, (performance.now() - started) / 1000);
    };
  }

  /** The metrics as text. Readings run one after the other, because each begins where the previous one ended. */
  async read(): Promise<{ readonly text: string; readonly contentType: string }> {
    const reading = this.#last.then(() => this.#collect());
    this.#last = reading.catch(() => undefined);
    await reading;
    const texts = [await this.#registry.metrics(), await processMetrics().metrics()];
    return { text: texts.join("\n"), contentType: this.#registry.contentType };
  }

  async #collect(): Promise<void> {
    const { database, catalog, streams } = this.#services;
    const { functions } = await catalog.contents();
    const holder = { kind: "local", name: null, expiresAt: null } as const;
    const caller = { role: "jobforge_reader", tenantId: undefined, claims: {}, holder } as const;
    const figures = await database.as({ kind: "claims", caller }, (session) =>
      this.#readFigures(apiSession(session, functions)),
    );
    this.#show(figures);
    const [row] = await database.query<{ age: number }>(
      "select coalesce(max(age(backend_xmin)), 0) as age from pg_stat_activity",
    );
    this.#xmin.set(row?.age ?? 0);
    for (const [state, count] of Object.entries(database.connections)) this.#pool.set({ state }, count);
    this.#streams.set(streams.size);
  }

  async #readFigures(session: ApiSession): Promise<Figures> {
    const text = await session.value("jobforge_metrics", {
      p_since: this.#since,
      p_buckets: binLimits,
      p_by_tenant: this.#tenants,
    });
    return JSON.parse(text ?? "{}") as Figures;
  }

  #show({ until, jobs, schedules, ended, wait, run, workers, reports, maintenance }: Figures): void {
    this.#since = until;
    this.#showSchedules(schedules);
    // Removes types that no longer have jobs.
    this.#jobs.reset();
    this.#oldest.reset();
    const series = this.#series(() => undefined);
    let oldestOfRest = 0;
    for (const row of jobs) {
      const labels = series.placeOf(this.#labelsOf(row));
      for (const status of ["queued", "scheduled", "running"] as const)
        this.#jobs.inc({ ...labels, status }, row[status]);
      if (labels["type"] === rest) oldestOfRest = Math.max(oldestOfRest, row.oldest_seconds);
      this.#oldest.set(labels, labels["type"] === rest ? oldestOfRest : row.oldest_seconds);
    }
    for (const row of ended)
      this.#ended.inc({ ...this.#endedSeries.placeOf(this.#labelsOf(row)), status: row.status }, row.jobs);
    for (const { type, jobs: count, seconds } of wait)
      this.#wait.add(this.#waitSeries.placeOf({ type }), count, seconds);
    for (const { type, jobs: count, seconds } of run)
      this.#run.add(this.#runSeries.placeOf({ type }), count, seconds);
    for (const { claim, settle, stale, handed } of this.#reports.growth(reports)) {
      this.#claim.addCalls(claim);
      this.#settle.addCalls(settle);
      this.#stale.inc(stale);
      this.#handed.inc(handed);
    }
    for (const [status, count] of Object.entries(workers)) this.#workers.set({ status }, count);
    for (const [task, count] of Object.entries(maintenance)) this.#maintenance.set({ task }, count);
  }

  #showSchedules(schedules: Figures["schedules"]): void {
    this.#schedules.reset();
    this.#oldestSchedule.reset();
    const series = this.#series(() => undefined);
    let oldestOfRest = 0;
    for (const row of schedules) {
      const labels = series.placeOf(this.#labelsOf(row));
      this.#schedules.inc(labels, row.due);
      if (labels["type"] === rest) oldestOfRest = Math.max(oldestOfRest, row.oldest_seconds);
      this.#oldestSchedule.set(labels, labels["type"] === rest ? oldestOfRest : row.oldest_seconds);
    }
  }

  #series(remove: (labels: Labels) => void): Series {
    return new Series({ remove, drop: (reason) => this.#dropped.inc({ reason }) });
  }

  #labelsOf({ type, tenant_id }: Owner): Labels {
    return this.#tenants && tenant_id !== null ? { type, tenant_id } : { type };
  }
}
