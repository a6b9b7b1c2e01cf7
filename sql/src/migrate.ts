/**
 * Brings a database to this version of JobForge, in one transaction. Each numbered file is applied once. All repeatable
 * files are applied again when one of them has changed. Many processes may migrate at the same time. When `migrate`
 * throws, nothing has changed. It waits for a lock for at most five seconds, so it never stops running workers for
 * long.
 */
import pg, { type ClientBase } from "pg";
import { MigrationError } from "./errors.ts";
import { minClient, type SqlFile, setupFile, version } from "./files.ts";
import { refuseForeignObjects } from "./foreign.ts";
import { pinSession } from "./session.ts";
import { type Plan, plan, readInstalled } from "./state.ts";

export interface MigrateOptions {
  /** A connection URL, or a connected client whose session may be used. */
  readonly database: string | ClientBase;
  /** The schema for functions and views. Default: the schema in which they are installed, else `public`. */
  readonly apiSchema?: string | undefined;
  readonly onProgress?: ((message: string) => void) | undefined;
}

export interface MigrateResult {
  readonly version: string;
  readonly apiSchema: string;
  /** The names of the numbered files that this call applied. */
  readonly applied: readonly string[];
  /** Whether this call applied functions, views and grants. */
  readonly refreshed: boolean;
}

export interface MigrationStatus {
  readonly version: string;
  readonly installedVersion: string | null;
  readonly apiSchema: string;
  readonly pending: readonly string[];
  readonly upToDate: boolean;
}

const maxTries = 5;

/** Brings a database to this version of JobForge. Throws a MigrationError when it refuses. */
export async function migrate(options: MigrateOptions): Promise<MigrateResult> {
  return await withClient(options.database, async (client) => {
    await requireServer(client);
    for (let tries = 1; ; tries++) {
      try {
        return await migrateOnce(client, options);
      } catch (error) {
        if (tries < maxTries && isTransient(error)) continue;
        throw explain(error);
      }
    }
  });
}

/** Returns what `migrate` would do, and changes nothing. */
export async function migrationStatus(options: MigrateOptions): Promise<MigrationStatus> {
  return await withClient(options.database, async (client) => {
    await requireServer(client);
    const found = await readPlan(client, options.apiSchema).catch((error: unknown) => {
      throw explain(error);
    });
    return {
      version,
      installedVersion: found.installed?.version ?? null,
      apiSchema: found.apiSchema,
      pending: found.migrations.map((file) => file.name),
      upToDate: found.upToDate,
    };
  });
}

/** Returns the SQL of a first installation as one script. */
export function migrationScript(apiSchema: string = "public"): string {
  const todo = plan(undefined, apiSchema);
  return ["begin;", pinSession, prepare(todo), ...statements(todo), "commit;", ""].join("\n");
}

async function migrateOnce(client: ClientBase, options: MigrateOptions): Promise<MigrateResult> {
  // Read committed, so that the plan is read as it is after the wait for another migration.
  await client.query("begin isolation level read committed");
  try {
    await client.query(pinSession);
    const todo = await lockedPlan(client, options.apiSchema);
    await refuseForeignObjects(client, todo);
    if (todo.upToDate) {
      await client.query("rollback");
      return result(todo);
    }
    await client.query(prepare(todo));
    if (todo.installed === undefined && (await readInstalled(client)) !== undefined)
      throw new InstalledMeanwhile();
    // Workers hold their locks for milliseconds. When another transaction holds one for longer, the migration gives up:
    // all work would have to wait behind it.
    await client.query("set local lock_timeout = '5s'");
    for (const name of todo.migrations.map((file) => file.name)) options.onProgress?.(`Applying ${name}`);
    if (todo.migrations.length === 0) options.onProgress?.("Refreshing functions, views and grants");
    for (const sql of statements(todo)) await client.query(sql);
    await client.query("commit");
    return result(todo);
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}

/** Another process has installed JobForge since this one read what is installed. */
class InstalledMeanwhile extends Error {}

/**
 * Reads the plan so that processes migrate one after the other, also through a pooler. The lock is on a table that only
 * the owner may lock; any role could take an advisory lock and keep it. Where nothing is installed, the creation of the
 * schema waits for another first installation, and fails after it.
 */
async function lockedPlan(client: ClientBase, apiSchema: string | undefined): Promise<Plan> {
  const first = await readPlan(client, apiSchema);
  if (first.upToDate || first.installed === undefined) return first;
  await client.query("lock table jobforge.migrations in share row exclusive mode");
  return await readPlan(client, apiSchema);
}

function result(done: Plan): MigrateResult {
  return {
    version,
    apiSchema: done.apiSchema,
    applied: done.migrations.map((file) => file.name),
    refreshed: !done.upToDate,
  };
}

/** Creates the roles and schemas, and acts as the owner from then on. */
function prepare(todo: Plan): string {
  return `${setupFile("before", todo.apiSchema)}\nset local check_function_bodies = off;`;
}

function statements(todo: Plan): string[] {
  const literal = pg.escapeLiteral;
  const { beforeTables, afterTables, last } = todo.repeatables;
  return [
    ...beforeTables.map(withName),
    ...todo.migrations.flatMap((file) => [
      withName(file),
      `insert into jobforge.migrations (number, name, checksum) values (${file.number}, ${literal(file.name)}, ${literal(file.checksum)});`,
    ]),
    `insert into jobforge.installation (version, api_schema, min_client)
values (${literal(version)}, ${literal(todo.apiSchema)}, ${literal(minClient)})
on conflict (only_row) do update
set version = excluded.version, min_client = excluded.min_client, updated_at = clock_timestamp();`,
    ...afterTables.map(withName),
    // A new installation needs its first leaves before its first job finishes. Maintenance makes all later ones.
    ...(todo.installed === undefined ? ["select jobforge.maintain_leaves(jobforge.now());"] : []),
    dropReplacedFunctions(todo.apiSchema),
    ...last.map(withName),
    "delete from jobforge.repeatables;",
    ...[...beforeTables, ...afterTables, ...last].map(
      (file) =>
        `insert into jobforge.repeatables (name, checksum) values (${literal(file.name)}, ${literal(file.checksum)});`,
    ),
    setupFile("after", todo.apiSchema),
  ];
}

function withName(file: SqlFile): string {
  return `-- ${file.name}\n${file.sql}`;
}

/**
 * Drops functions that this version does not have. The transaction has just written every function of the kernel, so
 * any other one was removed or is an old signature. An old signature with fewer parameters would make calls ambiguous.
 * Runs before the grants, which write to every function as well.
 */
function dropReplacedFunctions(apiSchema: string): string {
  return `do $$
declare
  v_function regprocedure;
begin
  for v_function in
    select p.oid
    from pg_proc p
    where p.proowner = 'jobforge_owner'::regrole
      and (p.pronamespace = 'jobforge'::regnamespace
        or (p.pronamespace = ${pg.escapeLiteral(pg.escapeIdentifier(apiSchema))}::regnamespace and p.proname like 'jobforge\\_%'))
      and p.xmin <> pg_current_xact_id()::xid
  loop
    execute format('drop routine %s', v_function);
  end loop;
end $$;`;
}

async function readPlan(client: ClientBase, apiSchema: string | undefined): Promise<Plan> {
  return plan(await readInstalled(client), apiSchema);
}

/** Asks for the version in a statement that depends on no search path, because no transaction has pinned one yet. */
async function requireServer(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ number: string; name: string }>(
    `select pg_catalog.current_setting('server_version_num') as number,
       pg_catalog.current_setting('server_version') as name`,
  );
  if (Number(rows[0]?.number ?? 0) < 150_000) {
    throw new MigrationError(
      "server_too_old",
      `JobForge needs PostgreSQL 15 or newer; this server is ${rows[0]?.name}`,
      "Upgrade the server.",
    );
  }
}

/**
 * Whether a retry can succeed: another process installed JobForge or changed the same roles at the same moment, or
 * another transaction held a lock for too long.
 */
function isTransient(error: unknown): boolean {
  if (error instanceof InstalledMeanwhile) return true;
  if (!(error instanceof pg.DatabaseError)) return false;
  return (
    ["40001", "40P01", "55P03", "42P06", "42P07", "42710"].includes(error.code ?? "") ||
    (error.code === "XX000" && error.message.startsWith("tuple concurrently")) ||
    (error.code === "23505" && (error.table ?? "").startsWith("pg_"))
  );
}

function explain(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  if (error.code === "42501") {
    return new MigrationError(
      "insufficient_privilege",
      `This role may not install JobForge: ${error.message}`,
      "Migrate as the owner of the database with the right to create roles (alter role NAME createrole), or let a " +
        "superuser run the output of `jobforge migrate --print`. If another role has installed JobForge in this cluster " +
        "before, that role must also grant jobforge_owner, jobforge_view, jobforge_tenant, jobforge_app, " +
        "jobforge_worker, jobforge_operator and jobforge_reader to this one with admin option.",
      error,
    );
  }
  if (error.code === "55P03") {
    return new MigrationError(
      "locked",
      "Another transaction has held a lock on JobForge's tables for too long",
      "Find that transaction in pg_stat_activity (the oldest xact_start), end it, and migrate again.",
      error,
    );
  }
  return error;
}

async function withClient<T>(
  database: string | ClientBase,
  work: (client: ClientBase) => Promise<T>,
): Promise<T> {
  if (typeof database !== "string") return await work(database);
  const client = new pg.Client({ connectionString: database, application_name: "jobforge-migrate" });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
