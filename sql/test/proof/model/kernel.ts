/**
 * The real side of the model test: a database whose clock stands still until a step moves it, and the sessions of all
 * callers. So every time can be predicted to the millisecond, and a reproduction is exact.
 */
import type { TestConnection, TestDatabase } from "@jobforge/testing";

/** The time at which every scenario starts. */
export const startTime = Date.UTC(2030, 0, 1);

/** The last id stands for work that belongs to no tenant. Some logins are bound to the first. */
export const tenantIds = [
  "11111111-1111-4111-8111-111111111111",
  "22222222-2222-4222-8222-222222222222",
  "00000000-0000-0000-0000-000000000000",
] as const;

/** The tenant that the bound logins are bound to. */
export const boundTenant: string = tenantIds[0];

/**
 * The callers: an operator, a login bound to the first tenant, workers of all tenants, a worker bound to the first
 * tenant, and two sessions whose transactions stay open: an application's and a handler's.
 */
export type SessionName = "operator" | "tenant" | "worker" | "bound" | "application" | "handler";

export interface KernelResult {
  /** The column `answer` of every row. */
  readonly rows: readonly unknown[];
  /** The SQLSTATE of a refusal. */
  readonly code: string | null;
  readonly message: string;
}

/** Short names for prepared statements, because Postgres truncates names at 63 characters. */
const statements = new Map<string, string>();

function prepared(
  text: string,
  values: readonly unknown[],
): { name: string; text: string; values: unknown[] } {
  const name = statements.get(text) ?? `model_${statements.size}`;
  statements.set(text, name);
  return { name, text, values: [...values] };
}

/** A session: one connection of one login. */
export class Session {
  readonly role: string;
  readonly #connection: TestConnection;

  constructor(role: string, connection: TestConnection) {
    this.role = role;
    this.#connection = connection;
  }

  /** Runs a statement without a result. */
  async run(sql: string): Promise<void> {
    await this.#connection.client.query(sql);
  }

  /** Calls a function at a time of the frozen clock. Returns its result or its error. */
  async call(now: number, sql: string, values: readonly unknown[], tenant?: string): Promise<KernelResult> {
    const { client } = this.#connection;
    await client.query(
      prepared("select set_config('model.now', $1, false), set_config('app.tenant_id', $2, false)", [
        new Date(now).toISOString(),
        tenant ?? "",
      ]),
    );
    try {
      const { rows } = await client.query<{ answer: unknown }>(prepared(sql, values));
      return { rows: rows.map((row) => row.answer), code: null, message: "" };
    } catch (error) {
      if (!(error instanceof Error && "code" in error && typeof error.code === "string")) throw error;
      return { rows: [], code: error.code, message: error.message };
    }
  }
}

/** The database under test. */
export interface Kernel {
  readonly sessions: Readonly<Record<SessionName, Session>>;
  /** Reads as superuser. */
  query<Row extends Record<string, unknown>>(sql: string, values: readonly unknown[]): Promise<Row[]>;
  /** Restores the initial state, except for values of sequences that no caller sees. */
  reset(): Promise<void>;
}

/** Prepares a test's database for scenarios, one after the other. */
export async function prepareKernel(db: TestDatabase): Promise<Kernel> {
  const session = async (role: string, bound?: string): Promise<Session> => {
    const login = await db.createLogin(role);
    if (bound !== undefined) await db.query("select jobforge_bind_role($1, $2)", [login.role, bound]);
    const connection = await db.connect(login.url);
    // A call that must never wait fails instead of hanging. A call that may wait is not made while it would.
    await connection.query("set lock_timeout = '2s'");
    return new Session(login.role, connection);
  };
  const sessions = {
    operator: await session("jobforge_operator"),
    tenant: await session("jobforge_tenant", boundTenant),
    worker: await session("jobforge_worker"),
    bound: await session("jobforge_worker", boundTenant),
    application: await session("jobforge_app"),
    handler: await session("jobforge_worker"),
  };
  await db.query(frozenClock);
  await db.query("select model.remember($1)", [new Date(startTime)]);
  const reader = await db.connect();
  return {
    sessions,
    query: async <Row extends Record<string, unknown>>(sql: string, values: readonly unknown[]) =>
      (await reader.client.query<Row>(prepared(sql, values))).rows,
    reset: async () => {
      for (const open of [sessions.application, sessions.handler]) await open.run("rollback");
      await reader.query("select model.reset($1)", [new Date(startTime)]);
    },
  };
}

/** A clock that stands still, and functions that save and restore the kernel's tables, whatever tables exist. */
const frozenClock = `
  create schema model;

  create or replace function jobforge.now() returns timestamptz language sql volatile parallel safe
  as $$ select current_setting('model.now')::timestamptz $$;

  create or replace function jobforge.new_id() returns uuid language sql volatile parallel safe
  as $$ select jobforge.uuid_at(jobforge.now()) $$;

  create function model.tables() returns setof name language sql stable as $$
    select c.relname from pg_class c
    where c.relnamespace = 'jobforge'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname not in ('installation', 'migrations', 'repeatables')
  $$;

  create function model.partitions() returns table (name name, depth integer) language sql stable as $$
    select c.relname, t.level from pg_partition_tree('jobforge.archive') t join pg_class c on c.oid = t.relid where t.level > 0
  $$;

  -- As the owner, like maintenance: the kernel could not drop leaves of a superuser.
  create function model.maintain_leaves(p_start timestamptz) returns void language plpgsql as $$
  begin
    set local role jobforge_owner;
    perform jobforge.maintain_leaves(p_start);
    reset role;
  end $$;

  create function model.remember(p_start timestamptz) returns void language plpgsql as $$
  declare
    v_name name;
    v_filled boolean;
  begin
    for v_name in select l.name from jobforge.leaves l loop
      execute format('drop table jobforge.%I', v_name);
    end loop;
    delete from jobforge.leaves;
    delete from jobforge.audit_log;
    perform model.maintain_leaves(p_start);
    create table model.first_partitions as select p.name from model.partitions() p;
    for v_name in select t from model.tables() t loop
      execute format('select exists (select from jobforge.%I)', v_name) into v_filled;
      if v_filled then
        execute format('create table model.%I as table jobforge.%I', v_name, v_name);
      end if;
    end loop;
  end $$;

  create function model.reset(p_start timestamptz) returns void language plpgsql as $$
  declare
    v_name name;
  begin
    for v_name in
      select p.name from model.partitions() p where p.name not in (select f.name from model.first_partitions f) order by p.depth
    loop
      execute format('drop table if exists jobforge.%I', v_name);
    end loop;
    for v_name in select t from model.tables() t loop
      execute format('delete from jobforge.%I', v_name);
      if to_regclass(format('model.%I', v_name)) is not null then
        execute format('insert into jobforge.%I overriding system value select * from model.%I', v_name, v_name);
      end if;
    end loop;
    delete from jobforge.leaves l where to_regclass(format('jobforge.%I', l.name)) is null;
    perform model.maintain_leaves(p_start);
    perform setval('jobforge.turns', 0, false);
  end $$;
`;
