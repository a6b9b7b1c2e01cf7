/**
 * graphile-worker 0.14 and newer. Its lower priorities come first, ours last. Its job keys become dedupe keys. Jobs
 * of a named queue run one after the other there: the name becomes the concurrency key, which a limit of one makes
 * the same. Its cron entries are in a file.
 */
import { crontabSource } from "./crontab.ts";
import { createdAt, openPostgres, payloadOf, type Statements, type Tables } from "./postgres.ts";
import type { Source, SourceOptions } from "./source.ts";

const tables: Tables = {
  name: "graphile-worker",
  schema: "graphile_worker",
  table: "_private_jobs",
  start: ["-9223372036854775808"],
  statements,
};

export async function openGraphileWorker(options: SourceOptions): Promise<Source> {
  const source = await openPostgres(tables, options);
  return options.crontab === undefined ? source : crontabSource(source, options.crontab, options);
}

function statements(schema: string): Statements {
  const from = `
      from ${schema}._private_jobs j
      join ${schema}._private_tasks t on t.id = j.task_id
      left join ${schema}._private_job_queues q on q.id = j.job_queue_id
      where ($1::text[] is null or t.identifier = any ($1))`;
  const waits = "j.locked_at is null and j.attempts < j.max_attempts";
  return {
    census: `
      select t.identifier as name, count(*) filter (where j.locked_at is not null)::int as running,
        count(*) filter (where j.locked_at is null and j.attempts >= j.max_attempts)::int as failed,
        count(*) filter (where ${waits})::int as waiting
      ${from}
      group by t.identifier`,
    jobs: `
      select j.id::text, ${createdAt("j.created_at")} as created_at, array[j.id::text] as key, t.identifier as name,
        case when j.attempts > 0 then 'retrying' when j.run_at > now() then 'delayed' else 'waiting' end as state,
        ${payloadOf("j.payload")} as payload, j.run_at, -j.priority as priority,
        j.max_attempts - j.attempts as attempts_left,
        j.key as dedupe_key, q.queue_name as concurrency_key,
        array(select jsonb_object_keys(j.flags::jsonb)) as tags, null::text as problem
      ${from} and ${waits} and j.id > $3::bigint
      order by j.id
      limit $2`,
    remove: `delete from ${schema}._private_jobs where id = any ($1::bigint[]) and locked_at is null`,
  };
}
