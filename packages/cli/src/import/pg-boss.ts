/**
 * pg-boss 10 and newer. Its priorities are ours. Its keys depend on the policy of the queue: those that allow one
 * waiting job per key become dedupe keys, those that allow one running job per key become concurrency keys. The key
 * of a standard queue only throttles what is sent, so it has no meaning for a job that waits.
 */
import { CommandError } from "../failures.ts";
import { openPostgres, payloadOf, type Statements, type Tables } from "./postgres.ts";
import type { Source, SourceOptions } from "./source.ts";

const tables: Tables = {
  name: "pg-boss",
  schema: "pgboss",
  table: "job",
  start: ["", "00000000-0000-0000-0000-000000000000"],
  statements,
};

export async function openPgBoss(options: SourceOptions): Promise<Source> {
  return await openPostgres(tables, options);
}

/** Queues that pg-boss uses itself. */
const own = "__pgboss\\_\\_%";

function statements(schema: string, columns: ReadonlySet<string>): Statements {
  if (!columns.has("policy"))
    throw new CommandError(
      "source_too_old",
      "The tables are of pg-boss 9 or older.",
      "Update pg-boss to version 10 or newer first. It migrates its tables when it starts.",
    );
  /** A column that only newer versions have. */
  const ifThere = (column: string, otherwise: string): string =>
    columns.has(column) ? `j.${column}` : otherwise;
  const wanted = `j.name not like '${own}' and ($1::text[] is null or j.name = any ($1))`;
  return {
    census: `
      select j.name, count(*) filter (where j.state = 'active')::int as running,
        count(*) filter (where j.state = 'failed')::int as failed,
        count(*) filter (where j.state in ('created', 'retry'))::int as waiting
      from ${schema}.job j
      where ${wanted} and j.state in ('created', 'retry', 'active', 'failed')
      group by j.name`,
    jobs: `
      select j.id, null as created_at, array[j.name, j.id::text] as key, j.name,
        case when j.started_on is not null or j.state = 'retry' then 'retrying'
          when j.start_after > now() then 'delayed'
          else 'waiting' end as state,
        ${payloadOf("coalesce(j.data, 'null')")} as payload,
        j.start_after as run_at, j.priority,
        -- The first execution does not count as a retry.
        greatest(1, j.retry_limit - j.retry_count + case when j.started_on is null then 1 else 0 end) as attempts_left,
        case when j.policy in ('short', 'stately', 'exclusive') then coalesce(j.singleton_key, j.name) end as dedupe_key,
        case when j.policy in ('singleton', 'key_strict_fifo') then coalesce(j.singleton_key, j.name)
          else ${ifThere("group_id", "null")} end as concurrency_key,
        null::text[] as tags,
        case when ${ifThere("blocked", "false")} then 'it waits for other jobs of a flow'
          when ${ifThere("blocking", "false")} then 'other jobs of a flow wait for it' end as problem
      from ${schema}.job j
      where ${wanted} and j.state in ('created', 'retry') and (j.name, j.id) > ($3::text, $4::uuid)
      order by j.name, j.id
      limit $2`,
    // The table is partitioned by name, and its index begins with the name.
    remove: `
      delete from ${schema}.job j
      using unnest($1::uuid[], $2::text[]) x(id, name)
      where j.name = x.name and j.id = x.id and j.state in ('created', 'retry')`,
    removesByName: true,
    ...scheduleStatements(schema),
  };
}

/** Only newer versions have keys and kinds of schedules. `to_jsonb(s)` has a member for each column that is there. */
function scheduleStatements(schema: string): Pick<Statements, "schedules" | "removeSchedules"> {
  const key = "coalesce(nullif(to_jsonb(s) ->> 'key', ''), 'default')";
  return {
    schedules: `
      select s.name, ${key} as key, s.cron, s.timezone, s.data as payload, 'skip' as missed,
        case when to_jsonb(s) ->> 'kind' <> 'cron'
          then 'it is a recurrence rule, which is not a cron expression' end as problem
      from ${schema}.schedule s
      where s.name not like '${own}' and ($1::text[] is null or s.name = any ($1))
      order by 1, 2`,
    removeSchedules: `
      delete from ${schema}.schedule s
      using unnest($1::text[], $2::text[]) x(name, key)
      where s.name = x.name and ${key} = x.key`,
  };
}
