/** The same action as a command of the CLI, as a request with curl, and as SQL, so that it can be repeated and kept. */

import { apiFilterOf, type JobFilter, queryOf } from "./filter.ts";
import { type Exact, writeExact } from "./json.ts";

export interface Commands {
  readonly cli?: string;
  readonly curl: string;
  readonly sql: string;
}

/** A word for a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A text for SQL. A backslash would mean something else on servers with old settings, so that form is marked. */
export function sqlText(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}

export function curlOf(method: string, url: string, body?: unknown): string {
  const parts = [
    "curl",
    ...(method === "GET" ? [] : ["-X", method]),
    "-H",
    '"Authorization: Bearer $JOBFORGE_KEY"',
  ];
  if (body !== undefined)
    parts.push("-H", shellWord("Content-Type: application/json"), "-d", shellWord(JSON.stringify(body)));
  return [...parts, shellWord(url)].join(" ");
}

/** The options of `jobforge jobs` for a filter, or undefined if the CLI has no option for a part of it. */
function cliOptions(filter: JobFilter, tenant: string | undefined): string | undefined {
  const names: Readonly<Record<string, string>> = {
    subject: "--subject",
    error: "--error",
    group: "--error-group",
    created_after: "--created-after",
    created_before: "--created-before",
    finished_after: "--finished-after",
    finished_before: "--finished-before",
  };
  const options: string[] = tenant === undefined ? [] : ["--tenant", tenant];
  if (filter.state.length > 0) options.push("--status", filter.state.join(","));
  for (const type of filter.type) options.push("--type", shellWord(type));
  for (const tag of filter.tag) options.push("--tag", shellWord(tag));
  for (const [name, value] of Object.entries(filter.text)) {
    const option = names[name];
    if (option === undefined) return undefined;
    options.push(option, shellWord(value));
  }
  return options.join(" ");
}

export function listCommands(filter: JobFilter, tenant: string | undefined, apiBase: string): Commands {
  const query = new URLSearchParams();
  const request = { ...(tenant && { tenant_id: tenant }), ...queryOf(apiFilterOf(filter)) };
  for (const [name, value] of Object.entries(request))
    for (const each of typeof value === "string" ? [value] : value) query.append(name, each);
  const search = query.size === 0 ? "" : `?${query}`;
  const filters = sqlText(writeExact(apiFilterOf(filter) as Exact));
  const options = cliOptions(filter, tenant);
  return {
    ...(options !== undefined && { cli: `jobforge jobs list ${options}`.trim() }),
    curl: curlOf("GET", `${apiBase}/v1/jobs${search}`),
    sql:
      tenant === undefined
        ? `select * from jobforge_search_jobs(${filters});`
        : `select * from jobforge_list_jobs(${sqlText(tenant)}, ${filters});`,
  };
}

/** Parameters of a request, without those that are not given. */
type Query = Readonly<Record<string, string | undefined>>;

function addressOf(path: string, query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const params = new URLSearchParams(Object.fromEntries(given) as Record<string, string>);
  return params.size === 0 ? path : `${path}?${params}`;
}

const jsonText = (value: object): string => sqlText(JSON.stringify(value));
const tenantOrNull = (tenant: string | undefined): string =>
  tenant === undefined ? "null" : sqlText(tenant);
const tenantOption = (tenant: string | undefined): string =>
  tenant === undefined ? "" : ` --tenant ${tenant}`;

/** A list that is read as a whole, by its name in the API, in the CLI, and as a call of SQL. */
const lists = {
  types: ["types list", "types", "list_types()"],
  tenants: ["tenants list", "tenants", "list_tenants()"],
  gates: ["gates list", "gates", "list_gates()"],
  limits: ["limits list", "limits", "list_limits()"],
  workers: ["workers", "workers", "list_workers()"],
} as const;

export function wholeList(name: keyof typeof lists, apiBase: string): Commands {
  const [cli, path, call] = lists[name];
  return {
    cli: `jobforge ${cli}`,
    curl: curlOf("GET", `${apiBase}/v1/${path}`),
    sql: `select * from jobforge_${call};`,
  };
}

export function deadCommands(tenant: string | undefined, apiBase: string): Commands {
  return {
    cli: `jobforge dead list${tenantOption(tenant)}`,
    curl: curlOf("GET", `${apiBase}${addressOf("/v1/dead", { tenant_id: tenant })}`),
    sql: `select * from jobforge_list_dead_groups(${tenantOrNull(tenant)});`,
  };
}

/** What a list of schedules can be narrowed to, as in its address. */
export function schedulesCommands(
  filter: Readonly<Record<string, string>>,
  tenant: string | undefined,
  apiBase: string,
): Commands {
  const options = Object.entries(filter).map(([name, value]) =>
    name === "enabled" ? (value === "true" ? " --enabled" : " --disabled") : ` --${name}`,
  );
  const filters = Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, value === "true"]));
  const sql = Object.keys(filters).length === 0 ? "" : `, ${jsonText(filters)}`;
  return {
    cli: `jobforge schedules list${tenantOption(tenant)}${options.join("")}`,
    curl: curlOf("GET", `${apiBase}${addressOf("/v1/schedules", { tenant_id: tenant, ...filter })}`),
    sql: `select * from jobforge_list_schedules(${tenantOrNull(tenant)}${sql});`,
  };
}

export function scheduleCommands(type: string, key: string, tenant: string, apiBase: string): Commands {
  const path = `/v1/schedules/${encodeURIComponent(type)}/${encodeURIComponent(key)}`;
  return {
    cli: `jobforge schedules show ${shellWord(type)} ${shellWord(key)} --tenant ${tenant}`,
    curl: curlOf("GET", `${apiBase}${addressOf(path, { tenant_id: tenant })}`),
    sql: `select * from jobforge_get_schedule(${[tenant, type, key].map(sqlText).join(", ")});`,
  };
}

export function typeCommands(type: string, apiBase: string): Commands {
  return {
    cli: `jobforge types show ${shellWord(type)}`,
    curl: curlOf("GET", `${apiBase}/v1/types/${encodeURIComponent(type)}/policy`),
    sql: `select * from jobforge_get_policy(${sqlText(type)});`,
  };
}

interface AuditFilter {
  readonly tenant_id?: string;
  readonly action?: string;
  readonly actor?: string;
  readonly entity_id?: string;
}

export function auditCommands(filter: AuditFilter, apiBase: string): Commands {
  const { tenant_id, ...filters } = filter;
  const options = Object.entries(filters).map(
    ([name, value]) => ` --${name.replace("_", "-")} ${shellWord(value)}`,
  );
  return {
    cli: `jobforge audit${tenantOption(tenant_id)}${options.join("")}`,
    curl: curlOf("GET", `${apiBase}${addressOf("/v1/audit", { ...filter })}`),
    sql: `select * from jobforge_list_audit(${tenantOrNull(tenant_id)}, ${jsonText(filters)});`,
  };
}

export interface UsageQuestion {
  readonly days: string;
  readonly by: "tenant" | "type" | "time";
  readonly timezone: string;
  readonly tenant: string | undefined;
}

export function usageCommands({ days, by, timezone, tenant }: UsageQuestion, apiBase: string): Commands {
  const isByDay = by === "time";
  const split = isByDay ? "--per day --by none" : `--per total --by ${by}`;
  const zone = isByDay ? ` --timezone ${shellWord(timezone)}` : "";
  const from = new Date(Date.now() - Number(days) * 86_400_000).toISOString();
  const query = isByDay ? { from, bucket: "day", by: "none", timezone } : { from, bucket: "total", by };
  const call = [
    tenantOrNull(tenant),
    `now() - interval '${days} days'`,
    `p_bucket => '${isByDay ? "day" : "total"}'`,
    `p_by => '${isByDay ? "{}" : `{${by}}`}'`,
    ...(isByDay ? [`p_timezone => ${sqlText(timezone)}`] : []),
  ].join(", ");
  return {
    cli: `jobforge usage --from ${days}d ${split}${zone}${tenantOption(tenant)}`,
    curl: curlOf("GET", `${apiBase}${addressOf("/v1/usage", { tenant_id: tenant, ...query })}`),
    sql: `select * from jobforge_report_usage(${call});`,
  };
}

export type JobVerb = "show" | "explain" | "cancel" | "reschedule";

export function jobCommands(verb: JobVerb, id: string, tenant: string, apiBase: string): Commands {
  const cli = { show: "show", explain: "explain", cancel: "cancel", reschedule: "retry" }[verb];
  const path = { show: "", explain: "/explain", cancel: "/cancel", reschedule: "/reschedule" }[verb];
  const call = {
    show: "select * from jobforge_get_job",
    explain: "select jobforge_explain_job",
    cancel: "select jobforge_cancel_job",
    reschedule: "select jobforge_reschedule_job",
  }[verb];
  const method = verb === "show" || verb === "explain" ? "GET" : "POST";
  const url = `${apiBase}/v1/jobs/${id}${path}?tenant_id=${tenant}`;
  return {
    cli: `jobforge jobs ${cli} ${id}`,
    curl: verb === "reschedule" ? curlOf(method, url, {}) : curlOf(method, url),
    sql: `${call}(${sqlText(id)}, ${sqlText(tenant)});`,
  };
}

export function workflowCommands(id: string, tenant: string, apiBase: string): Commands {
  return {
    cli: `jobforge workflows show ${id}`,
    curl: curlOf("GET", `${apiBase}/v1/workflows/${id}?tenant_id=${tenant}`),
    sql: `select jobforge_get_workflow(${sqlText(id)}, ${sqlText(tenant)});`,
  };
}

export function webhookCommands(id: string, tenant: string, apiBase: string): Commands {
  return {
    curl: curlOf("GET", `${apiBase}/v1/webhooks/${id}?tenant_id=${tenant}`),
    sql: `select jobforge_get_webhook_endpoint(${sqlText(tenant)}, ${sqlText(id)});`,
  };
}
