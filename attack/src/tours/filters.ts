/**
 * Requests with random filters, columns, orders, casts, names, bodies, content types, methods, headers and paths, with
 * a token of tenant A. The server must never fail, and must never show a value of tenant B.
 */
import { deflateSync, gzipSync } from "node:zlib";
import type { Random } from "../../../sql/test/support/random.ts";
import { describe, type Sent, Target } from "../http.ts";
import { forgedHeaders } from "../routes.ts";
import { Scene } from "../scene.ts";
import { type Holdings, tenantA } from "../tenants.ts";
import { sign } from "../tokens.ts";
import type { Steps, Tour } from "../tour.ts";

/** No client needs a larger response. Pages are cut by bytes before that. */
const maxResponseBytes = 24 * 2 ** 20;

export const filtersTour: Tour = {
  name: "filters",
  about: "random filters, columns, casts, JSON, content types, methods, headers and paths over HTTP",
  async play(server, steps) {
    await using scene = await Scene.open(server);
    await using target = await Target.open(scene);
    // A payload that makes a response large when it is selected often.
    await scene.db.query("select jobforge_enqueue_job($1, 'large', to_jsonb(repeat('a', 1000000)))", [
      tenantA,
    ]);
    const views = await columnsOf(scene);
    const token = await sign({ role: "jobforge_app", tenant_id: tenantA });
    const kinds = [
      ...Array.from({ length: 5 }, () => (random: Random) => viewRequest(random, views, scene.b)),
      (random: Random) => callRequest(random, scene.b),
      (random: Random) => oddRequest(random, scene.b),
      (random: Random) => pathRequest(random, scene.b),
    ];
    while (steps.next()) {
      const sent = steps.random.pick(kinds)(steps.random);
      await play(scene, steps, target, {
        ...sent,
        headers: { authorization: `Bearer ${token}`, ...sent.headers },
      });
      if (steps.number % 50 === 0) await play(scene, steps, target, largeRequest(steps.random, token));
    }
  },
};

async function play(scene: Scene, steps: Steps, target: Target, request: Sent): Promise<void> {
  await scene.remember("app");
  const { status, text, bytes } = await target.send(request);
  steps.saw(String(status));
  if (status >= 500) steps.violated("requests", `status ${status}: ${text.slice(0, 300)}`, describe(request));
  if (bytes > maxResponseBytes) steps.violated("response size", `${bytes} bytes`, describe(request));
  await scene.check(steps, "app", describe(request), text);
}

type Views = ReadonlyMap<string, readonly string[]>;

async function columnsOf({ db }: Scene): Promise<Views> {
  const rows = await db.query<{ view: string; columns: string[] }>(
    `select c.relname as view, array_agg(a.attname::text order by a.attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relkind = 'v' and c.relname like 'jobforge\\_%' and c.relnamespace = 'public'::regnamespace
     group by 1`,
  );
  return new Map(rows.map(({ view, columns }) => [view, columns]));
}

const operators = [
  "eq",
  "neq",
  "gt",
  "gte",
  "lt",
  "lte",
  "in",
  "is",
  "like",
  "ilike",
  "cs",
  "cd",
  "ov",
  "not.eq",
  "fts",
  "match",
];
const casts = [
  "text",
  "integer",
  "bigint",
  "numeric",
  "boolean",
  "timestamptz",
  "date",
  "uuid",
  "jsonb",
  "regclass",
  "oid",
  "name",
];

function columnOf(random: Random, columns: readonly string[]): string {
  const column = random.pick(columns);
  return random.pick([
    ...Array.from({ length: 25 }, () => column),
    `${column}->note`,
    `${column}->>note`,
    `${column}->0->>1`,
    `${column}->>%27 or true--`,
    "no_such_column",
    "tenant_id",
    "payload->>note",
    "payload",
    "constructor",
    "xmin",
    "ctid",
    `"${column}"`,
    `${column};select 1`,
  ]);
}

function valueFor(random: Random, victim: Holdings): string {
  return random.pick([
    victim.tenant,
    victim.knownType,
    victim.knownKey.replace("key", "subject"),
    ...victim.knownJobs,
    "null",
    "not_null",
    "true",
    "unknown",
    "(a,b)",
    `("${victim.tenant}",")")`,
    "{a,b}",
    '{"note":"x"}',
    "%25",
    "*",
    "mark*",
    "0",
    "-1",
    "1e400",
    "99999999999999999999",
    "infinity",
    "2020-13-45",
    "' or true --",
    "$1",
    "\\",
    "\u0000",
    "\ud83d\ude00",
    "[".repeat(random.below(300)),
    "a".repeat(random.below(4000)),
    "",
  ]);
}

function filterOf(random: Random, columns: readonly string[], victim: Holdings, depth = 0): [string, string] {
  if (depth < 3 && random.chance(0.3)) {
    const terms = Array.from({ length: 1 + random.below(3) }, () => {
      const [name, value] = filterOf(random, columns, victim, depth + 1);
      return /^(not\.)?(and|or)$/.test(name) ? `${name}${value}` : `${name}.${value}`;
    });
    return [random.pick(["or", "and", "not.or", "not.and"]), `(${terms.join()})`];
  }
  return [columnOf(random, columns), `${random.pick(operators)}.${valueFor(random, victim)}`];
}

function viewRequest(random: Random, views: Views, victim: Holdings): Sent {
  const [view, columns] = random.pick([...views]);
  const query = new URLSearchParams();
  for (let n = random.below(4); n > 0; n -= 1) query.append(...filterOf(random, columns, victim));
  if (random.chance(0.5)) {
    const items = Array.from({ length: 1 + random.below(5) }, () => {
      const cast = random.chance(0.3) ? `::${random.pick(casts)}` : "";
      const alias = random.chance(0.3)
        ? `${random.pick(["p", "v", "f", "r", "found", "a b", "*", "count"])}:`
        : "";
      return `${alias}${columnOf(random, columns)}${cast}`;
    });
    query.set("select", random.chance(0.1) ? `*,${view}(*)` : items.join());
  }
  if (random.chance(0.3))
    query.set("order", `${columnOf(random, columns)}${random.pick(["", ".desc", ".asc.nullslast", ".x"])}`);
  if (random.chance(0.3)) query.set("limit", random.pick(["1", "0", "-1", "1e9", "99999999999", "x"]));
  if (random.chance(0.2)) query.set("offset", random.pick(["1", "0", "-1", "999999999"]));
  const headers = random.chance(0.3) ? forgedHeaders(random, victim) : {};
  return { path: `/rest/v1/${view}?${query}`, headers, method: random.pick(["GET", "GET", "GET", "HEAD"]) };
}

/** A random JSON value. */
export function randomJson(random: Random, depth = 0): unknown {
  const leaf = (): unknown =>
    random.pick<unknown>([
      ...[null, true, 0, -1, 1.5, 1e308, 2 ** 53, "", "x", "\u0000", "\ud800", "2020-01-01", tenantA, "*"],
      "a".repeat(random.below(3000)),
    ]);
  if (depth > 3 || random.chance(0.4)) return leaf();
  const items = Array.from({ length: random.below(4) }, () => randomJson(random, depth + 1));
  if (random.chance(0.5)) return items;
  const names = [
    "type",
    "payload",
    "tenant_id",
    "__proto__",
    "constructor",
    "status",
    "id",
    "p_tenant_id",
    "",
    "\u0000",
  ];
  return Object.fromEntries(items.map((item) => [random.pick(names), item]));
}

const functions = [
  "enqueue_job",
  "enqueue_jobs",
  "enqueue_each",
  "list_jobs",
  "cancel_jobs",
  "ensure_schedule",
  "stats",
  "report_usage",
  "no_such",
];

function callRequest(random: Random, victim: Holdings): Sent {
  const body = {
    p_tenant_id: random.pick<unknown>([victim.tenant, tenantA, tenantA, randomJson(random)]),
    ...(random.chance(0.6) ? { p_filters: randomJson(random) } : {}),
    ...(random.chance(0.6)
      ? { p_type: random.pick<unknown>(["mail", victim.knownType, randomJson(random)]) }
      : {}),
    ...(random.chance(0.4) ? { p_payload: randomJson(random) } : {}),
    ...(random.chance(0.3) ? { p_jobs: randomJson(random) } : {}),
  };
  const kept = Object.fromEntries(random.some(Object.entries(body), 1 + random.below(4)));
  const type = random.pick([
    "application/json",
    "application/json; charset=utf-8",
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json; charset=utf-16",
    "multipart/form-data",
    "",
  ]);
  return {
    method: random.pick(["POST", "POST", "POST", "PUT", "GET"]),
    path: `/rest/v1/rpc/jobforge_${random.pick(functions)}`,
    headers: { "content-type": type },
    body: JSON.stringify(kept),
  };
}

/** Requests whose body or encoding is unusual. */
function oddRequest(random: Random, victim: Holdings): Sent {
  const json = JSON.stringify({ type: "mail", payload: randomJson(random), tenant_id: victim.tenant });
  const bodies: readonly (readonly [Buffer | string, Record<string, string>])[] = [
    [gzipSync(json), { "content-encoding": "gzip" }],
    [deflateSync(json), { "content-encoding": "deflate" }],
    [gzipSync("a".repeat(5_000_000)), { "content-encoding": "gzip" }],
    [json, { "content-encoding": "br" }],
    [`${"[".repeat(20_000)}${"]".repeat(20_000)}`, {}],
    [`\ufeff${json}`, {}],
    [Buffer.from(json, "utf16le"), {}],
    [Buffer.from([0xff, 0xfe, 0x00, 0x22]), {}],
    [json.slice(0, -1), {}],
    ["", {}],
    ['{"type":"a","type":"b"}', {}],
    ['{"type":"mail","payload":{"__proto__":{"role":"jobforge_operator"}}}', {}],
    [`{"type":"mail","priority":${"9".repeat(400)}}`, {}],
    [JSON.stringify(randomJson(random)) ?? "null", {}],
    ["a".repeat(9_000_000), {}],
  ];
  const [body, headers] = random.pick(bodies);
  const path = random.pick([
    "/v1/jobs",
    "/v1/bulk/enqueue",
    "/v1/bulk/cancel",
    "/rest/v1/rpc/jobforge_enqueue_job",
  ]);
  return {
    method: random.pick(["POST", "PATCH"]),
    path,
    headers: { "content-type": "application/json", ...headers },
    body,
  };
}

const paths = (victim: Holdings): readonly string[] => [
  `/v1/jobs/${victim.knownJobs[0]}/../../tokens`,
  "/v1/jobs/%2e%2e/%2e%2e/tokens",
  "/v1//jobs",
  "//v1/jobs",
  "/v1/jobs/",
  "/v1/jobs;tenant_id=x",
  "/v1/jobs%00",
  "/v1/jobs/%ff%fe",
  "/v1/jobs/not-a-uuid",
  `/v1/jobs/${victim.knownJobs[1]}/result`,
  `/v1/jobs/${victim.knownJobs[1]}/attempts`,
  `/v1/schedules/${victim.knownType}/${victim.knownKey}`,
  "/rest/v1/jobs",
  "/rest/v1/jobforge.queue",
  "/rest/v1/pg_authid",
  "/rest/v1/rpc/pg_sleep?p_1=10",
  "/rest/v1/rpc/jobforge_claim_jobs",
  "/rest/v1/rpc/constructor",
  "/rest/v1/__proto__",
  "/metrics",
  "/health",
  "/.env",
  `/v1/jobs?cursor=${victim.knownJobs[0]}`,
  "/v1/jobs?limit=-1&limit=5",
  "/v1/audit?limit=1000",
  "/v1/tokens",
  "http://evil.example/v1/jobs",
  "*",
];

function pathRequest(random: Random, victim: Holdings): Sent {
  const method = random.pick([
    "GET",
    "GET",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "TRACE",
    "PROPFIND",
    "HEAD",
  ]);
  return { method, path: random.pick(paths(victim)), headers: forgedHeaders(random, victim) };
}

/** Asks for one large payload many times. */
function largeRequest(random: Random, token: string): Sent {
  const names = Array.from({ length: 40 + random.below(60) }, (_, n) => `c${n}:payload`);
  return {
    path: `/rest/v1/jobforge_jobs?type=eq.large&select=${names.join()}`,
    headers: { authorization: `Bearer ${token}` },
  };
}
