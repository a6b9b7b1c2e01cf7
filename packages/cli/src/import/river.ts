/**
 * River. Its priorities are 1 to 4, and 1 comes first: they become 0 to -3. Its unique keys are hashes; they become
 * dedupe keys. Periodic jobs are in the code of its clients, so there are no cron entries to read.
 */
import { createdAt, openPostgres, payloadOf, type Statements, type Tables } from "./postgres.ts";
import type { Source, SourceOptions } from "./source.ts";

const tables: Tables = { name: "River", schema: "public", table: "river_job", start: ["0"], statements };

export async function openRiver(options: SourceOptions): Promise<Source> {
  return await openPostgres(tables, options);
}

function statements(schema: string, columns: ReadonlySet<string>): Statements {
  const wanted = "($1::text[] is null or j.kind = any ($1))";
  const waiting = "('available', 'scheduled', 'retryable', 'pending')";
  const unique = columns.has("unique_key") ? "'river-' || encode(j.unique_key, 'hex')" : "null";
  return {
    census: `
      select j.kind as name, count(*) filter (where j.state = 'running')::int as running,
        count(*) filter (where j.state = 'discarded')::int as failed,
        count(*) filter (where j.state in ${waiting})::int as waiting
      from ${schema}.river_job j
      where ${wanted} and j.state not in ('completed', 'cancelled')
      group by j.kind`,
    jobs: `
      select j.id::text, ${createdAt("j.created_at")} as created_at, array[j.id::text] as key, j.kind as name,
        case when j.attempt > 0 then 'retrying' when j.scheduled_at > now() then 'delayed' else 'waiting' end as state,
        ${payloadOf("j.args")} as payload, j.scheduled_at as run_at, 1 - j.priority as priority,
        greatest(1, j.max_attempts - j.attempt)::int as attempts_left,
        ${unique} as dedupe_key, null::text as concurrency_key, j.tags::text[] as tags,
        case when j.state = 'pending' then 'it waits for other jobs of a workflow' end as problem
      from ${schema}.river_job j
      where ${wanted} and j.state in ${waiting} and j.id > $3::bigint
      order by j.id
      limit $2`,
    remove: `delete from ${schema}.river_job where id = any ($1::bigint[]) and state in ${waiting}`,
  };
}
