/** The same action as a command of the CLI, as a request with curl, and as SQL, so that it can be repeated and kept. */
import { type ApiFilter, apiFilterOf, type JobFilter } from "./filter.ts";

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
  const request: ApiFilter = { ...(tenant && { tenant_id: tenant }), ...apiFilterOf(filter) };
  for (const [name, value] of Object.entries(request))
    for (const each of typeof value === "string" ? [value] : value) query.append(name, each);
  const search = query.size === 0 ? "" : `?${query}`;
  const filters = sqlText(JSON.stringify(apiFilterOf(filter)));
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
