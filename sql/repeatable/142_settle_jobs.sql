-- The text as a time, or null when it is none.
create or replace function jobforge.time_or_null(p_text text) returns timestamptz
language plpgsql stable as $$
begin
  return case when jobforge.is_time(p_text::timestamptz) then p_text::timestamptz end;
exception when data_exception then
  return null;
end $$;

-- The children of a run as jobs to enqueue. Raises as an enqueue would.
create or replace function jobforge.read_children(p_children jsonb, p_now timestamptz) returns jobforge.new_job[]
language plpgsql as $$
declare
  v_jobs jobforge.new_job[];
begin
  if jsonb_typeof(p_children) <> 'array' then
    perform jobforge.fail_argument('children', 'children must be a JSON array');
  elsif jsonb_array_length(p_children) = 0 then
    return null;
  end if;
  v_jobs := jobforge.read_jobs(p_children);
  perform jobforge.require_valid(v_jobs, p_now, true);
  return v_jobs;
end $$;

-- What keeps a reported end from being kept as it is: an error for the run, or null.
create or replace function jobforge.problem_with_end(
  p_result jsonb, p_artifact_ref text, p_children jsonb, p_now timestamptz
) returns jsonb
language plpgsql as $$
begin
  if jobforge.is_oversized(p_result) then
    perform jobforge.fail('JF008', 'Payload too large: result is over 1 MiB', 'payload_too_large', 'result');
  elsif octet_length(p_artifact_ref) > 4096 then
    perform jobforge.fail_argument('artifact_ref', 'artifact_ref is longer than 4096 bytes');
  elsif p_children is not null then
    perform jobforge.read_children(p_children, p_now);
  end if;
  return null;
exception when sqlstate 'JF002' or sqlstate 'JF008' then
  return jsonb_build_object('name', 'InvalidResult', 'message', sqlerrm);
end $$;

-- The ends of runs of a JSON array of objects, whose ids and attempts are well-formed. What is not an end (no id, an unknown
-- status) gets a null id and so meets no job; a success whose result or children cannot be kept becomes a failure that is not
-- retried, because its work is done and the same result would come again.
create or replace function jobforge.cast_ends(p_results jsonb, p_now timestamptz) returns jobforge.run_end[]
language plpgsql as $$
begin
  return (
    select array_agg(row(
        r.ord,
        case when r.status in ('succeeded', 'failed', 'deferred', 'released') then r.id end,
        r.attempt,
        case when x.problem is null then r.status else 'failed' end,
        coalesce(x.problem, r.error),
        case when x.problem is null and not jobforge.is_oversized(r.result) then r.result end,
        case when x.problem is null and octet_length(r.artifact_ref) <= 4096 then r.artifact_ref end,
        r.retry is distinct from 'false' and x.problem is null,
        case r.status
          when 'failed' then case when r.retry_at is not null then jobforge.time_or_null(r.retry_at) end
          when 'deferred' then coalesce(case when r.run_at is not null then jobforge.time_or_null(r.run_at) end, p_now)
        end,
        r.counts is distinct from 'false',
        case when r.cost_cents ~ '^[0-9]{1,9}$' then r.cost_cents::integer end,
        case when r.children is not null and r.status = 'succeeded' and x.problem is null
          then jobforge.read_children(r.children, p_now) end,
        case when r.next_run_at is not null then jobforge.time_or_null(r.next_run_at) end
      )::jobforge.run_end)
    from rows from (jsonb_to_recordset(p_results) as (
      id uuid, attempt integer, status text, error jsonb, result jsonb, artifact_ref text, retry text, retry_at text, run_at text,
      counts text, cost_cents text, children jsonb, next_run_at text)) with ordinality as r(
      id, attempt, status, error, result, artifact_ref, retry, retry_at, run_at, counts, cost_cents, children, next_run_at, ord)
    cross join lateral (
      select case when r.status = 'succeeded' and num_nonnulls(r.result, r.artifact_ref, r.children) > 0
        then jobforge.problem_with_end(r.result, r.artifact_ref, r.children, p_now) end as problem
    ) x);
end $$;

-- The ends of runs of a JSON array of objects. Never raises for one of them: where an id or an attempt is malformed, that end
-- meets no job. Checking each before it is cast costs more than reading them, so it is done only when one was malformed.
create or replace function jobforge.read_ends(p_results jsonb, p_now timestamptz) returns jobforge.run_end[]
language plpgsql as $$
begin
  return jobforge.cast_ends(p_results, p_now);
exception when data_exception then
  return jobforge.cast_ends(jobforge.mend_ends(p_results), p_now);
end $$;

-- The same ends with nothing in place of those whose id or attempt is malformed, so that none of them can raise.
create or replace function jobforge.mend_ends(p_results jsonb) returns jsonb
language sql immutable as $$
  select jsonb_agg(
    case when jobforge.uuid_or_null(e.item ->> 'id') is not null
        and coalesce(e.item ->> 'attempt', '0') ~ '^[0-9]{1,9}$'
      then e.item else '{}' end
    order by e.ord)
  from jsonb_array_elements(p_results) with ordinality e(item, ord)
$$;

-- Ends the last batch of runs and claims the next, in one call and one commit.
--   p_results [{id, attempt, status: succeeded|failed|deferred|released, error, result, artifact_ref, retry, retry_at, run_at,
--             counts, cost_cents, next_run_at, children: [{type, payload, ...}]}]
-- Answers {settled: [{id, attempt, outcome, status}], jobs: [...], hint, next_due_at, now}. outcome is ok; already when this very
-- run was settled before, so a call may be repeated after a lost answer; stale when the fence refused it. One bad row spoils
-- no other, and a claim that fails undoes no settle: claim_error says why. Children of a success are enqueued with it, once.
-- hint goes unread into the worker's next call.
-- Who: workers, operators; a role bound to a tenant settles and gets that tenant's jobs only. Locks running rows in id order;
-- waits for nothing that an application can hold. Claiming needs READ COMMITTED.
create or replace function :"api_schema".jobforge_settle_jobs(
  p_worker_id text,
  p_results jsonb,
  p_claim_limit integer default 0,
  p_types text[] default null,
  p_tenant_id uuid default null,
  p_hint jsonb default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  return exchange(p_worker_id, p_results, p_claim_limit, p_types, p_tenant_id, p_hint)::jsonb;
end $$;

-- The same call for the loop of a worker's runtime, which parses the answer itself: JSON as text. Building a jsonb of
-- hundreds of jobs only to print it again takes an eighth of the time of the whole call.
-- Who, locks: as jobforge_settle_jobs.
create or replace function :"api_schema".jobforge_exchange_jobs(
  p_worker_id text,
  p_results jsonb,
  p_claim_limit integer default 0,
  p_types text[] default null,
  p_tenant_id uuid default null,
  p_hint jsonb default null
) returns text
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  return exchange(p_worker_id, p_results, p_claim_limit, p_types, p_tenant_id, p_hint);
end $$;

-- What both of them do; the answer as text.
create or replace function jobforge.exchange(
  p_worker_id text, p_results jsonb, p_claim_limit integer, p_types text[], p_tenant_id uuid, p_hint jsonb
) returns text
language plpgsql
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := jobforge.now();
  v_tenant_id uuid := claimable_tenant(p_tenant_id);
  v_bound uuid := case when v_tenant_id is not null then claimable_tenant(null) end;
  v_settled text := '[]';
  v_claimed record;
  v_claim_error json;
begin
  perform require_worker_id(p_worker_id);
  if jsonb_typeof(coalesce(p_results, '[]')) <> 'array' then
    perform fail_argument('results', 'results must be a JSON array');
  elsif p_claim_limit is null or p_claim_limit not between 0 and 1000 then
    perform fail_argument('claim_limit', 'claim_limit must be between 0 and 1000');
  elsif p_claim_limit > 0 then
    perform require_read_committed();
  end if;
  if jsonb_array_length(coalesce(p_results, '[]')) > 0 then
    v_settled := settle(p_worker_id, v_bound, p_results, v_now);
  end if;
  begin
    if p_claim_limit > 0 then
      v_claimed := claim_documents(p_worker_id, p_claim_limit, p_types, v_tenant_id, v_now, p_hint);
    end if;
  exception when others then
    v_claim_error := json_build_object('code', sqlstate, 'message', sqlerrm);
  end;
  if p_claim_limit = 0 or v_claim_error is not null then
    select '[]' as jobs, p_hint as hint, next_due(open_types(p_types, v_now)) as due into v_claimed;
  end if;
  return concat('{"settled":', v_settled, ',"jobs":', v_claimed.jobs, ',"hint":', coalesce(v_claimed.hint, 'null'),
    ',"next_due_at":', coalesce(case when v_bound is null then to_json(v_claimed.due) end, 'null'), ',"now":', to_json(v_now),
    ',"claim_error":' || v_claim_error, '}');
end $$;

-- Ends the runs of a JSON array and answers [{id, attempt, outcome, status}] in its order, as text.
create or replace function jobforge.settle(p_worker_id text, p_tenant_id uuid, p_results jsonb, p_now timestamptz) returns text
language plpgsql as $$
declare
  v_results jsonb := p_results;
begin
  if jsonb_path_exists(v_results, 'strict $[*] ? (@.type() != "object")') then
    v_results := (
      select jsonb_agg(case jsonb_typeof(e.item) when 'object' then e.item else '{}' end order by e.ord)
      from jsonb_array_elements(p_results) with ordinality e(item, ord));
  end if;
  return (
    -- Written by hand, in a third of the time of the functions for it: ids, numbers and words need no escaping.
    select '[' || string_agg(concat(
      '{"id":', coalesce('"' || o.id || '"', (v_results -> (o.ord - 1) -> 'id')::text, 'null'),
      ',"attempt":', coalesce(o.attempt::text, 'null'),
      ',"outcome":"', o.outcome, '","status":', coalesce('"' || o.status || '"', 'null'), '}'),
      ',' order by o.ord) || ']'
    from unnest(jobforge.end_runs(p_worker_id, p_tenant_id, jobforge.read_ends(v_results, p_now), p_now)) o);
end $$;

-- Claims, and answers the jobs as a JSON array, the hint for the next call, and when the next waiting job becomes due. A job has the
-- columns of jobforge_jobs that a worker needs; those that are rarely set only when they are.
create or replace function jobforge.claim_documents(
  p_worker_id text, p_limit integer, p_types text[], p_tenant_id uuid, p_now timestamptz, p_hint jsonb,
  out jobs text, out hint jsonb, out due timestamptz
)
language plpgsql as $$
declare
  v_claim record;
begin
  v_claim := jobforge.claim(p_worker_id, p_limit, p_types, p_tenant_id, p_now, true, p_hint);
  hint := v_claim.p_hint;
  due := v_claim.due;
  jobs := '[]';
  if cardinality(v_claim.claimed) = 0 then
    return;
  end if;
  -- Written first and sorted then: the other way round whole rows would be sorted.
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
    cross join lateral (select * from jobforge.jobs j where j.ctid = c.place limit 1) j
    offset 0
  ) d;
end $$;
