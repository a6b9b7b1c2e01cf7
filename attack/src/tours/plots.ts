/** Attacks that need more than one login: an attacker prepares something, and others walk into it. */

import { clientRoles } from "@jobforge/sdk-ts";
import { createServer } from "@jobforge/server";
import { migrate } from "@jobforge/sql";
import { pino } from "pino";
import { send } from "../call.ts";
import { openAs, type Scene } from "../scene.ts";
import type { Subject } from "../subjects.ts";
import { tenantA, tenantB } from "../tenants.ts";
import { secret, sign } from "../tokens.ts";
import type { Steps } from "../tour.ts";

export interface Plot {
  readonly name: string;
  readonly subject: Subject;
  play(scene: Scene, steps: Steps): Promise<void>;
}

/**
 * Functions that an attacker creates in the API schema. Each has the name of a system function and exact types of
 * arguments, for which Postgres would prefer it. It records who called it.
 */
const planted: readonly (readonly [name: string, args: string, returns: string, original: string])[] = [
  ["to_json", "x jsonb", "json", "pg_catalog.to_json(x)"],
  ["to_json", "x text", "json", "pg_catalog.to_json(x)"],
  ["to_jsonb", "x jsonb", "jsonb", "pg_catalog.to_jsonb(x)"],
  ["power", "a integer, b numeric", "numeric", "pg_catalog.power(a::numeric, b)"],
  ["power", "a integer, b integer", "double precision", "pg_catalog.power(a::float8, b::float8)"],
  ["pg_get_viewdef", "v regclass", "text", "pg_catalog.pg_get_viewdef(v::oid)"],
  ["pg_get_functiondef", "v regprocedure", "text", "pg_catalog.pg_get_functiondef(v::oid)"],
  ["set_config", "a text, b text, c boolean", "text", "pg_catalog.set_config(a, b, c)"],
  ["quote_ident", "a name", "text", "pg_catalog.quote_ident(a::text)"],
  ["format_type", "a regtype, b integer", "text", "pg_catalog.format_type(a::oid, b)"],
  ["has_function_privilege", "a text, b regprocedure, c text", "boolean", "true"],
  ["to_regnamespace", "a name", "regnamespace", "pg_catalog.to_regnamespace(a::text)"],
  ["substring", "a text, b integer, c bigint", "text", "a"],
  ["round", "a double precision, b integer", "numeric", "pg_catalog.round(a::numeric, b)"],
  ["length", "a jsonb", "integer", "0"],
  ["left", "a text, b bigint", "text", "pg_catalog.left(a, b::integer)"],
  ["lower", "a name", "text", "pg_catalog.lower(a::text)"],
];

const foreignObjects: Plot = {
  name: "objects in the API schema",
  subject: "foreign objects",
  async play(scene, steps) {
    const { db } = scene;
    const plain = scene.caller("plain");
    await db.query("truncate public.loot");
    await db.query(`grant create on schema public to ${plain.role}`);
    const created = planted.map(
      ([name, args, returns, original]) =>
        `create function public.${name}(${args}) returns ${returns} language plpgsql as $$
         begin insert into public.loot values (session_user || ' called ${name}(${args})');
         return ${original}; end $$`,
    );
    for (const statement of created) await send(plain.connection, statement);
    await useEverything(scene);
    const loot = await db.query<{ found: string }>("select distinct found from public.loot order by 1");
    await db.query(`revoke create on schema public from ${plain.role}`);
    await db.query(`drop owned by ${plain.role} cascade`);
    await db.query("truncate public.loot");
    if (loot.length > 0)
      steps.violated(
        "foreign objects",
        `${loot.map(({ found }) => found).join("; ")}`,
        `plain: ${planted.map(([name, args]) => `create function public.${name}(${args})`).join("; ")}`,
      );
  },
};

/** Reads all views, sends requests to a server, and migrates again. */
async function useEverything({ db, callers }: Scene): Promise<void> {
  for (const name of ["operator", "tenant A"] as const) {
    const connection = callers.get(name)?.connection;
    if (connection === undefined) continue;
    for (const view of ["jobs", "job_attempts", "job_results", "audit_log", "schedules", "usage"])
      await send(connection, `select * from public.jobforge_${view}`);
  }
  const { url: database } = await db.createLogin(...clientRoles);
  const server = createServer({ database, jwtSecret: secret, logger: pino({ level: "silent" }) });
  try {
    const token = await sign({ role: "jobforge_app", tenant_id: tenantA });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const post = (path: string, body: unknown): Request =>
      new Request(`http://localhost${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    await server.fetch(post("/v1/jobs", { type: "mail" }));
    await server.fetch(post("/rest/v1/rpc/jobforge_stats", { p_tenant_id: tenantA }));
    for (const path of ["/v1/jobs", "/v1/stats", "/rest/v1/jobforge_jobs", "/rest/v1/jobforge_usage"])
      await server.fetch(new Request(`http://localhost${path}`, { headers }));
  } finally {
    await server.close();
  }
  const owner = await db.connect();
  // As if every text had changed.
  await owner.query("delete from jobforge.repeatables");
  await migrate({ database: owner.client }).catch(() => undefined);
  await owner.query("select jobforge.allow_time_travel(false)");
  await owner.close();
}

/** Claims as a login, and returns whether it received a job of tenant B. The claim is rolled back. */
async function claimsOfB({ db }: Scene, url: string): Promise<boolean> {
  const connection = await openAs(db, url);
  await send(connection, "begin");
  const { received } = await send(
    connection,
    "select tenant_id, payload from public.jobforge_claim_jobs('w', 100)",
  );
  await send(connection, "rollback");
  await connection.close();
  return received.includes("markb7") || received.includes(tenantB);
}

const bindingPlots: readonly Plot[] = [
  {
    name: "a member of a bound group",
    subject: "bindings",
    async play(scene, steps) {
      const { db } = scene;
      const { role: group } = await db.createLogin("jobforge_worker");
      await db.query(`alter role ${group} nologin`);
      const { url } = await db.createLogin(group);
      // A binding may be refused. One that is accepted must protect.
      const { code } = await send(await db.connect(), `select jobforge_bind_role('${group}', '${tenantA}')`);
      steps.saw(code);
      if (code === "ok" && (await claimsOfB(scene, url)))
        steps.violated(
          "bindings",
          "a member of a bound group claims for other tenants",
          "bound worker: claim",
        );
    },
  },
  {
    name: "a bound login with a new name",
    subject: "bindings",
    async play(scene, steps) {
      const { db } = scene;
      const { role, url } = await db.createLogin("jobforge_worker");
      await db.query("select jobforge_bind_role($1, $2)", [role, tenantA]);
      const renamed = `${role}_renamed`;
      await db.query(`alter role ${role} rename to ${renamed}`);
      await db.query(`alter role ${renamed} password 'attack'`);
      const moved = new URL(url);
      moved.username = renamed;
      moved.password = "attack";
      const escaped = await claimsOfB(scene, moved.href);
      await db.query(`alter role ${renamed} rename to ${role}`);
      if (escaped) steps.violated("bindings", "a renamed login is no longer bound", "bound worker: claim");
    },
  },
  {
    name: "a new login with the name of a bound one",
    subject: "bindings",
    async play(scene, steps) {
      const { db } = scene;
      const { role, url } = await db.createLogin("jobforge_tenant");
      await db.query("select jobforge_bind_role($1, $2)", [role, tenantB]);
      await db.query(`drop role ${role}`);
      await db.query(`create role ${role} login password '${new URL(url).password}'`);
      await db.query(`grant jobforge_tenant to ${role}`);
      const connection = await openAs(db, url);
      const { received } = await send(connection, "select * from public.jobforge_jobs");
      await connection.close();
      await db
        .query("delete from jobforge.role_bindings where tenant_id = $1 and role::text = $2", [tenantB, role])
        .catch(() => undefined);
      if (received.includes("markb7"))
        steps.violated(
          "bindings",
          "a new login has the tenant of an old one",
          "tenant: select * from jobforge_jobs",
        );
    },
  },
];

export const plots: readonly Plot[] = [foreignObjects, ...bindingPlots];
