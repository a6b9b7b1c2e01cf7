/**
 * The page at `/`: live counts, schedules and recent jobs that the caller may see. The template escapes every value.
 */
import { type ErrorParts, failureTrace, intervalText } from "@jobforge/sdk-ts";
import { Hono } from "hono";
import { html, raw } from "hono/html";
import type { ApiSession } from "../calls.ts";
import { cookieFor } from "../local-token.ts";
import type { Environment, Services } from "../services.ts";
import { newestJobs } from "../v1/jobs.ts";
import { contentSecurityPolicy, script, style } from "./assets.ts";

type Markup = ReturnType<typeof html>;

interface Counts {
  readonly queued: number;
  readonly scheduled: number;
  readonly running: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly dead: number;
  readonly canceled: number;
}

interface Job extends OfTenant {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly run_at: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  readonly last_error: string | null;
  readonly error: ErrorParts | null;
}

interface Schedule extends OfTenant {
  readonly type: string;
  readonly key: string;
  readonly kind: string;
  readonly cron: string | null;
  readonly timezone: string | null;
  readonly every: string | null;
  readonly enabled: boolean;
  readonly next_run_at: string | null;
  readonly last_status: string | null;
}

interface Contents {
  readonly at: string;
  readonly totals: Counts;
  readonly jobs: readonly Job[];
  readonly schedules: readonly Schedule[];
}

const maxJobs = 50;
const maxSchedules = 20;

export function pageRoutes(services: Services): Hono<Environment> {
  const app = new Hono<Environment>();
  app.get("/", async (c) => {
    const { localToken } = services.settings;
    const token = c.req.query("token");
    if (localToken !== undefined && token !== undefined) {
      await services.admitBy(c, token, localToken);
      c.header("set-cookie", cookieFor(c.req.raw.headers, localToken));
    }
    const contents = await services.as(c, read);
    c.header("content-security-policy", contentSecurityPolicy);
    c.header("cache-control", "no-store");
    return c.html(page(contents));
  });
  app.get("/favicon.ico", (c) => c.body(null, 204));
  return app;
}

async function read(session: ApiSession): Promise<Contents> {
  const tenant = session.tenant(undefined);
  const stats = await session.value("jobforge_stats", { p_tenant_id: tenant });
  const jobs = await newestJobs(session, undefined, { limit: maxJobs });
  const schedules = await session.rows("jobforge_list_schedules", {
    p_tenant_id: tenant,
    p_filters: { limit: maxSchedules },
  });
  const { at, totals } = JSON.parse(stats ?? "{}") as Pick<Contents, "at" | "totals">;
  return {
    at,
    totals,
    jobs: JSON.parse(jobs.text) as Job[],
    schedules: JSON.parse(schedules.text) as Schedule[],
  };
}

function page(contents: Contents): Markup {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>JobForge</title>
<style>${raw(style)}</style>
</head>
<body>
<h1>JobForge</h1>
<p role="status">Loaded</p>
<noscript><p>Reload the page to see changes.</p></noscript>
<main>
${counts(contents)}
${schedules(contents)}
${jobs(contents)}
</main>
<p>The API is described at <a href="v1/openapi.json">v1/openapi.json</a>.</p>
<script type="module">${raw(script)}</script>
</body>
</html>
`;
}

function counts({ totals }: Contents): Markup {
  const { queued, scheduled, running, succeeded, failed, dead, canceled } = totals;
  return html`<div class="wide"><table>
<caption>Live jobs, and jobs that finished within the last hour</caption>
<thead><tr>${cells(["Due", "Scheduled", "Running", "Succeeded", "Failed", "Dead", "Canceled"])}</tr></thead>
<tbody><tr>${[queued, scheduled, running, succeeded, failed, dead, canceled].map((each) => html`<td class="number">${each}</td>`)}</tr></tbody>
</table></div>`;
}

function schedules(contents: Contents): Markup | "" {
  if (contents.schedules.length === 0) return "";
  return html`<div class="wide"><table>
<caption>Schedules</caption>
<thead><tr>${cells(["Type", "Key", ...tenantTitle(contents.schedules), "Runs", "Next", "Last"])}</tr></thead>
<tbody>
${contents.schedules.map((each) => html`<tr><th scope="row">${each.type}</th><td>${each.key}</td>${tenant(each, contents.schedules)}<td class="word">${rhythm(each)}</td><td class="word">${each.enabled ? time(each.next_run_at) : "disabled"}</td><td class="word">${each.last_status ?? ""}</td></tr>`)}
</tbody>
</table></div>`;
}

interface OfTenant {
  readonly tenant_label: string | null;
}

/** The title of the column with the labels of tenants, if one of the rows has a label. */
function tenantTitle(rows: readonly OfTenant[]): string[] {
  return rows.some(({ tenant_label }) => tenant_label !== null) ? ["Tenant"] : [];
}

function tenant({ tenant_label }: OfTenant, rows: readonly OfTenant[]): Markup | "" {
  return tenantTitle(rows).length === 0 ? "" : html`<td>${tenant_label ?? ""}</td>`;
}

function rhythm({ kind, cron, timezone, every }: Schedule): string {
  if (cron !== null) return `${cron} (${timezone ?? "UTC"})`;
  return every === null ? kind : `every ${intervalText(every)}`;
}

function jobs(contents: Contents): Markup {
  if (contents.jobs.length === 0) return html`<p>No jobs yet.</p>`;
  return html`<div class="wide"><table>
<caption>Recent jobs, newest first</caption>
<thead><tr>${cells(["Type", ...tenantTitle(contents.jobs), "Status", "Attempts", "When", "Last error"])}<th scope="col" class="id">Id</th></tr></thead>
<tbody>
${contents.jobs.map((job) => html`<tr><th scope="row">${job.type}</th>${tenant(job, contents.jobs)}<td class="word">${wordFor(job, contents.at)}</td><td class="number">${job.attempts}/${job.max_attempts}</td><td class="word">${time(job.finished_at ?? (job.status === "running" ? job.started_at : job.run_at))}</td><td class="text">${lastError(job)}</td><td class="id" title="${job.id}">${job.id}</td></tr>`)}
</tbody>
</table></div>`;
}

/** The last error in one line, which opens to show its stack and its causes. */
function lastError({ id, attempts, last_error, error }: Job): Markup | string {
  const trace = error === null ? "" : failureTrace(error);
  if (!trace.includes("\n")) return last_error ?? "";
  return html`<details id="${`${id}/${attempts}`}"><summary>${last_error}</summary><pre>${trace}</pre></details>`;
}

/** The word for a job's status on the page. A queued job may wait for its time or for a retry. */
function wordFor({ status, attempts, run_at }: Job, now: string): string {
  if (status !== "queued") return status;
  if (attempts > 0) return "retrying";
  return Date.parse(run_at) > Date.parse(now) ? "scheduled" : "queued";
}

function cells(titles: readonly string[]): Markup[] {
  return titles.map((title) => html`<th scope="col">${title}</th>`);
}

function time(at: string | null): Markup | "" {
  if (at === null) return "";
  const read = new Date(at);
  // Postgres has times that JavaScript cannot represent: infinity, and years with more than four digits.
  if (Number.isNaN(read.getTime())) return html`${at}`;
  const iso = read.toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace("T", " ")} UTC</time>`;
}
