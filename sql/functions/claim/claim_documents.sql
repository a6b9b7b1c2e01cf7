-- Claims jobs and returns them as a JSON array, with the hint for the next call, and when the next waiting job becomes
-- due. more: other jobs are due, which would have made the claim too large. A job has the columns of jobforge_jobs that
-- a worker needs. Columns that are rarely set are left out when they are null. Like jobforge_claim_jobs, it returns
-- jobs by priority, run_at and seq (see the claim order in claim.sql).
create or replace function jobforge.claim_documents(
  p_worker_id text, p_limit integer, p_types text[], p_tenant_id uuid, p_now timestamptz, p_hint jsonb,
  out jobs text, out hint jsonb, out due timestamptz, out more boolean
)
language plpgsql as $$
declare
  v_claim record;
begin
  v_claim := jobforge.claim(p_worker_id, p_limit, p_types, p_tenant_id, p_now, true, p_hint);
  hint := v_claim.p_hint;
  due := v_claim.due;
  more := v_claim.more;
  jobs := '[]';
  if cardinality(v_claim.claimed) = 0 then
    return;
  end if;
  -- Documents are written first and sorted afterwards. The other way round, whole rows would be sorted.
  select '[' || string_agg(d.document, ',' order by d.rank, d.run_at, d.seq) || ']'
  into jobs
  from (
    select j.rank, j.run_at, j.seq,
      concat('{"id":"', j.id, '","tenant_id":"', j.tenant_id, '","type":', to_json(j.type),
        ',"payload":', coalesce(j.payload, (select p.payload from jobforge.payloads p where p.job_id = j.id), 'null'),
        ',"priority":', -j.rank, ',"attempts":', j.attempts, ',"max_attempts":', j.max_attempts,
        ',"run_at":', to_json(j.run_at), ',"created_at":', to_json(j.created_at),
        ',"trace_id":"', jobforge.trace_id(j.id, j.attempts), '"',
        case when j.schedule_id is not null then jobforge.schedule_of_run(j.schedule_id, j.scheduled_for) end,
        case when num_nonnulls(j.subject, j.progress, j.traceparent) = 0 and j.tags = '{}' then '}'
          else ',' || substr((jsonb_strip_nulls(jsonb_build_object('subject', j.subject, 'traceparent', j.traceparent))
            || jsonb_build_object('tags', j.tags, 'progress', j.progress))::text, 2)
        end) as document
    from unnest(v_claim.claimed) c(place)
    cross join lateral (select * from jobforge.runs j where j.ctid = c.place limit 1) j
    offset 0
  ) d;
end $$;

-- Returns what the handler of a scheduled run learns about its schedule: members of a JSON object, each after a comma.
create or replace function jobforge.schedule_of_run(p_schedule_id uuid, p_scheduled_for timestamptz) returns text
language plpgsql stable as $$
begin
  return concat(',"schedule_id":"', p_schedule_id, '","scheduled_for":', to_json(p_scheduled_for), (
    select concat(',"schedule_key":', to_json(s.key), case when s.retry_runs then ',"retry_runs":true' end,
      ',"previous_run":',
      case when s.last_run_at is null then 'null' else json_build_object(
        'scheduled_for', s.last_scheduled_for, 'finished_at', s.last_run_at, 'status', s.last_status,
        'error', s.last_error, 'consecutive_failures', s.consecutive_failures)::text end)
    from jobforge.all_schedules s
    where s.id = p_schedule_id));
end $$;
