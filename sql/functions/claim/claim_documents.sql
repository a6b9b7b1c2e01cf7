-- Claims jobs and returns them as a JSON array, with the hint for the next call, and when the next waiting job becomes
-- due. more: other jobs are due, which would have made the claim too large. apart: the jobs whose payloads are stored
-- apart, in order, or null; the array has a mark in place of each: see jobforge.with_payloads. A job has the columns of
-- jobforge_jobs that a worker needs. Columns that are rarely set are left out when they are null. Like
-- jobforge_claim_jobs, it returns jobs by priority, run_at and seq (see the claim order in claim.sql).
create or replace function jobforge.claim_documents(
  p_worker_id text, p_limit integer, p_types text[], p_tenant_id uuid, p_now timestamptz, p_hint jsonb,
  out jobs text, out hint jsonb, out due timestamptz, out more boolean, out apart uuid[]
)
language plpgsql as $$
declare
  v_hint jobforge.hint;
  v_plain record;
  v_claim record;
  v_places tid[] := '{}';
begin
  -- The short path needs a hint without streams to continue with. Usually it does it all.
  if cardinality(p_types) > 0 and p_tenant_id is null and p_hint is not null then
    v_hint := jobforge.read_hint(p_hint, ':' || array_to_string(p_types, ','), p_now);
  end if;
  if v_hint.key is not null and v_hint.streams is null and v_hint.costly is not true then
    v_plain := jobforge.claim_plain(p_worker_id, p_limit, p_types, v_hint, p_now);
    if v_plain.places is not null then
      hint := jobforge.write_hint(v_plain.hint);
      if not v_plain.more then
        jobs := v_plain.jobs;
        due := v_plain.due;
        more := false;
        return;
      end if;
      v_places := v_plain.places;
    end if;
  end if;
  v_claim := jobforge.claim(p_worker_id, p_limit - cardinality(v_places), p_types, p_tenant_id, p_now, true,
    coalesce(hint, p_hint));
  hint := v_claim.p_hint;
  due := v_claim.due;
  more := v_claim.more;
  jobs := '[]';
  v_places := v_places || v_claim.claimed;
  if cardinality(v_places) = 0 then
    return;
  end if;
  v_places := array(
    select c.place
    from unnest(v_places) c(place)
    cross join lateral (select j.rank, j.run_at, j.seq from jobforge.runs j where j.ctid = c.place limit 1) j
    order by j.rank, j.run_at, j.seq);
  -- Only places are sorted, never documents: a few hundred large ones would be sorted on disk. An aggregate without an
  -- order takes its rows as they come, and unnest returns them in the order of the array.
  select concat('[', string_agg(
    jobforge.run_document(j.id, j.tenant_id, j.type, j.payload, j.rank, j.attempts, j.max_attempts, j.run_at,
      j.created_at, j.schedule_id, j.scheduled_for, j.subject, j.traceparent, j.tags, j.progress, j.step_id), ','), ']'),
    array_agg(j.id) filter (where j.payload is null)
  into jobs, apart
  from unnest(v_places) c(place)
  cross join lateral (select * from jobforge.runs j where j.ctid = c.place limit 1) j;
end $$;

-- Returns the document of a run that a worker gets. A payload that is stored apart is null here, and a mark stands in
-- its place. One expression, so that Postgres inlines it.
create or replace function jobforge.run_document(
  p_id uuid, p_tenant_id uuid, p_type text, p_payload jsonb, p_rank integer, p_attempts integer, p_max_attempts integer,
  p_run_at timestamptz, p_created_at timestamptz, p_schedule_id uuid, p_scheduled_for timestamptz, p_subject text,
  p_traceparent text, p_tags text[], p_progress jsonb, p_step_id uuid
) returns text
language sql stable as $$
  select concat('{"id":"', p_id, '","tenant_id":"', p_tenant_id, '","type":', to_json(p_type),
    ',"payload":', coalesce(p_payload::text, jobforge.payload_mark()),
    ',"priority":', -p_rank, ',"attempts":', p_attempts, ',"max_attempts":', p_max_attempts,
    ',"run_at":', to_json(p_run_at), ',"created_at":', to_json(p_created_at),
    ',"trace_id":"', jobforge.trace_id(p_id, p_attempts), '"',
    case when p_schedule_id is not null then jobforge.schedule_of_run(p_schedule_id, p_scheduled_for) end,
    case when p_step_id is not null then jobforge.step_of_run(p_step_id) end,
    case when num_nonnulls(p_subject, p_progress, p_traceparent) = 0 and p_tags = '{}' then '}'
      else ',' || substr((jsonb_strip_nulls(jsonb_build_object('subject', p_subject, 'traceparent', p_traceparent))
        || jsonb_build_object('tags', p_tags, 'progress', p_progress))::text, 2)
    end)
$$;

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

-- Returns what the handler of a step learns about its workflow: members of a JSON object, each after a comma.
create or replace function jobforge.step_of_run(p_step_id uuid) returns text
language plpgsql stable as $$
begin
  return (
    select concat(',"step_id":"', s.id, '","step":', to_json(s.path), ',"workflow_id":"', s.workflow_id, '"')
    from jobforge.steps s
    where s.id = p_step_id);
end $$;
