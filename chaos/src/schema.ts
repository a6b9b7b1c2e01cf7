/**
 * The tables of a run, in addition to those of JobForge: the application's own rows, and a record of every start and
 * end that a trigger writes, so that no check has to trust the kernel's own tables.
 */
import { migrate } from "@jobforge/sql";
import pg from "pg";
import {
  auditedAction,
  beat,
  definitions,
  leaseMs,
  limited,
  limitedTenant,
  maxOfLimitedTenant,
  maxOfLimitedType,
  plain,
  schedules,
  tenants,
} from "./jobs.ts";

const tablesSql = `
create schema chaos;
-- Rows of the application, committed together with their jobs.
create table chaos.orders (
  id uuid primary key, producer text not null, tenant_id uuid not null, type text not null,
  at timestamptz not null default clock_timestamp());
-- Rows of the application, committed together with their workflows.
create table chaos.flows (id uuid primary key, tenant_id uuid not null);
-- Rows that handlers wrote in the transactions that settled their runs.
create table chaos.effects (job_id uuid not null, attempt integer not null);
-- Every start and end of a run, with the time when its row was changed. A start is written after the kernel has counted
-- running jobs, and an end before it is committed. So if two runs overlap here, they really overlapped.
create table chaos.transitions (
  id bigint generated always as identity primary key, job_id uuid not null, attempt integer not null, type text not null,
  tenant_id uuid not null, concurrency_key text, worker_id text, event text not null,
  at timestamptz not null default clock_timestamp());
-- What processes recorded, loaded from their journals at the end.
create table chaos.executions (
  job_id uuid not null, attempt integer not null, worker_id text not null, process integer not null,
  started_at timestamptz not null, ended_at timestamptz, outcome text);
create table chaos.replies (
  job_id uuid not null, attempt integer not null, worker_id text not null, reply text not null, at timestamptz not null);
create table chaos.keys (key text primary key, acknowledged uuid);
create table chaos.cancels (job_id uuid not null, reply text not null, at timestamptz not null);
create table chaos.trouble (share double precision not null);

create function chaos.note() returns trigger language plpgsql security definer as $$
begin
  if tg_op = 'INSERT' then
    insert into chaos.transitions (job_id, attempt, type, tenant_id, concurrency_key, worker_id, event)
    values (new.id, new.attempts, new.type, new.tenant_id, new.concurrency_key, new.worker_id, 'start');
  else
    insert into chaos.transitions (job_id, attempt, type, tenant_id, concurrency_key, worker_id, event)
    values (old.id, old.attempts, old.type, old.tenant_id, old.concurrency_key, old.worker_id, 'end');
  end if;
  return null;
end $$;
create trigger chaos_start after insert on jobforge.runs for each row execute function chaos.note();
create trigger chaos_end after delete on jobforge.runs for each row execute function chaos.note();

-- Fails a share of the statements that change jobs, as happens with a higher isolation level or during a failover.
create function chaos.fail_sometimes() returns trigger language plpgsql security definer as $$
begin
  if random() < (select t.share from chaos.trouble t) then
    raise exception 'could not serialize access due to concurrent update (chaos)' using errcode = '40001';
  end if;
  return null;
end $$;
create trigger chaos_trouble before insert or update or delete on jobforge.queue
for each statement execute function chaos.fail_sometimes();
create trigger chaos_trouble before insert or update or delete on jobforge.runs
for each statement execute function chaos.fail_sometimes();
`;

/** Prepares an empty database for a run. */
export async function prepareDatabase(
  url: string,
  workers: readonly string[],
  isPlain = false,
): Promise<void> {
  await migrate({ database: url });
  const db = new pg.Client({ connectionString: url });
  await db.connect();
  try {
    await db.query(tablesSql);
    const types = [...definitions.map(({ type }) => type), ...workers.map((id) => `chaos.probe.${id}`)];
    for (const type of types) {
      const policy = { lease_ms: leaseMs, base_ms: 200, cap_ms: 2000, max_attempts: 6 };
      const audited = type === plain.type ? { audit_action: auditedAction } : {};
      await db.query("select jobforge_set_policy($1, $2)", [type, { ...policy, ...audited }]);
    }
    if (isPlain) return;
    await db.query("select jobforge_set_limit('key', '*', 1)");
    await db.query("select jobforge_set_limit('type', $1, $2)", [limited.type, maxOfLimitedType]);
    await db.query("select jobforge_set_limit('tenant', $1, $2)", [limitedTenant, maxOfLimitedTenant]);
    for (const [key, options] of Object.entries(schedules)) {
      await db.query("select jobforge_ensure_schedule($1, $2, $3, $4)", [
        tenants[1],
        beat.type,
        key,
        options,
      ]);
    }
  } finally {
    await db.end();
  }
}

/** Creates logins like those of a real installation: each has only the permissions that its work needs. */
export async function createLogins(
  url: string,
  password: string,
): Promise<{ readonly worker: string; readonly producer: string; readonly hog: string }> {
  const db = new pg.Client({ connectionString: url });
  await db.connect();
  try {
    const grants: Record<string, string[]> = {
      chaos_worker: [
        "grant jobforge_worker to chaos_worker",
        "grant insert on chaos.effects to chaos_worker",
      ],
      chaos_producer: [
        "grant jobforge_app to chaos_producer",
        "grant insert on chaos.orders to chaos_producer",
        "grant insert on chaos.flows to chaos_producer",
      ],
      chaos_hog: [],
    };
    for (const [role, statements] of Object.entries(grants)) {
      await db.query(`create role ${role} login password '${password}'`);
      await db.query(`grant usage on schema chaos to ${role}`);
      for (const statement of statements) await db.query(statement);
    }
  } finally {
    await db.end();
  }
  const as = (role: string): string => {
    const changed = new URL(url);
    changed.username = role;
    changed.password = password;
    return changed.href;
  };
  return { worker: as("chaos_worker"), producer: as("chaos_producer"), hog: as("chaos_hog") };
}
