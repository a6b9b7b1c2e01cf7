-- The text as a time, or null when it is none or not finite.
create or replace function jobforge.time_or_null(p_text text) returns timestamptz
language plpgsql stable as $$
begin
  return nullif(nullif(p_text::timestamptz, 'infinity'), '-infinity');
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

-- The ends of runs of a JSON array. Never raises for one of them: what is not an end (no id, an unknown status, an attempt
-- that is no number) gets a null id and so meets no job; a success whose result or children cannot be kept becomes a failure
-- that is not retried, because its work is done and the same result would come again.
create or replace function jobforge.read_ends(p_results jsonb, p_now timestamptz) returns jobforge.run_end[]
language plpgsql as $$
declare
  v_ends jobforge.run_end[];
begin
  select array_agg(row(
      r.ord,
      case when r.status in ('succeeded', 'failed', 'deferred', 'released') and (r.attempt is null or r.attempt ~ '^[0-9]{1,9}$')
        then jobforge.uuid_or_null(r.id) end,
      case when r.attempt ~ '^[0-9]{1,9}$' then r.attempt::integer end,
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
        then jobforge.read_children(r.children, p_now) end
    )::jobforge.run_end order by r.ord)
  into v_ends
  from rows from (jsonb_to_recordset(p_results) as (
    id text, attempt text, status text, error jsonb, result jsonb, artifact_ref text, retry text, retry_at text, run_at text,
    counts text, cost_cents text, children jsonb)) with ordinality as r(
    id, attempt, status, error, result, artifact_ref, retry, retry_at, run_at, counts, cost_cents, children, ord)
  cross join lateral (
    select case when r.status = 'succeeded' and num_nonnulls(r.result, r.artifact_ref, r.children) > 0
      then jobforge.problem_with_end(r.result, r.artifact_ref, r.children, p_now) end as problem
  ) x;
  return v_ends;
end $$;

-- Ends the last batch of runs and claims the next, in one call and one commit.
--   p_results [{id, attempt, status: succeeded|failed|deferred|released, error, result, artifact_ref, retry, retry_at, run_at,
--             counts, cost_cents, children: [{type, payload, ...}]}]
-- Answers {settled: [{id, attempt, outcome, status}], jobs: [...], hint, next_due_at}. outcome is ok; already when this very
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
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := jobforge.now();
  v_tenant_id uuid := claimable_tenant(p_tenant_id);
  v_bound uuid := claimable_tenant(null);
  v_settled json := '[]';
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
  select '[]'::json as jobs, p_hint as hint, '-infinity'::timestamptz as floor into v_claimed;
  if p_claim_limit > 0 then
    begin
      select * into v_claimed
      from claim_documents(p_worker_id, p_claim_limit, p_types, v_tenant_id, v_now, p_hint);
    exception when others then
      v_claim_error := json_build_object('code', sqlstate, 'message', sqlerrm);
    end;
  end if;
  -- Put together as text and parsed once: nesting documents of type jsonb would copy them at every level.
  return json_build_object(
    'settled', v_settled,
    'jobs', v_claimed.jobs,
    'hint', v_claimed.hint,
    'next_due_at', case when v_bound is null then next_due(open_types(p_types, v_now), v_claimed.floor) end,
    'claim_error', v_claim_error)::text::jsonb - case when v_claim_error is null then 'claim_error' else '' end;
end $$;

-- Ends the runs of a JSON array and answers [{id, attempt, outcome, status}] in its order.
create or replace function jobforge.settle(p_worker_id text, p_tenant_id uuid, p_results jsonb, p_now timestamptz) returns json
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
    select json_agg(json_build_object(
      'id', coalesce(to_json(o.id), (v_results -> (o.ord - 1) -> 'id')::json),
      'attempt', o.attempt, 'outcome', o.outcome, 'status', o.status) order by o.ord)
    from unnest(jobforge.end_runs(p_worker_id, p_tenant_id, jobforge.read_ends(v_results, p_now), p_now)) o);
end $$;

-- Claims, and answers the jobs as a JSON array, the hint for the next call, and from where on the waiting index is worth
-- a look. A job has the columns of jobforge_jobs that a worker needs; those that are rarely set only when they are.
create or replace function jobforge.claim_documents(
  p_worker_id text, p_limit integer, p_types text[], p_tenant_id uuid, p_now timestamptz, p_hint jsonb,
  out jobs json, out hint jsonb, out floor timestamptz
)
language plpgsql as $$
declare
  v_claim record;
begin
  select c.job_ids, c.p_hint into v_claim
  from jobforge.claim(p_worker_id, p_limit, p_types, p_tenant_id, p_now, true, p_hint) c;
  select json_agg(
      case when num_nonnulls(j.subject, j.progress, j.traceparent) = 0 and j.tags = '{}' then to_json(x)
        else (to_jsonb(x) || jsonb_strip_nulls(jsonb_build_object('subject', j.subject, 'traceparent', j.traceparent))
          || jsonb_build_object('tags', j.tags, 'progress', j.progress))::json
      end order by j.rank, j.run_at, j.seq)
  into jobs
  from jobforge.jobs j
  cross join lateral (
    select j.id, j.tenant_id, j.type,
      coalesce(j.payload, (select p.payload from jobforge.payloads p where p.job_id = j.id)) as payload,
      -j.rank as priority, j.attempts, j.max_attempts, j.run_at, j.created_at,
      jobforge.trace_id(j.id, j.attempts) as trace_id
  ) x
  where j.id = any (v_claim.job_ids);
  jobs := coalesce(jobs, '[]');
  hint := v_claim.p_hint;
  floor := coalesce((hint ->> 'due')::timestamptz, '-infinity');
end $$;
