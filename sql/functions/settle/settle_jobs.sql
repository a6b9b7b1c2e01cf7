-- Ends the last batch of runs and claims the next, in one call and one commit.
--   p_results [{id, attempt, status: succeeded|failed|deferred|released, error, result, artifact_ref, retry, retry_at,
--             not_before, run_at, counts, cost_cents, next_run_at, children: [{type, payload, ...}],
--             steps, detached, workflows: [{name, steps, input, options}], logs: [{at, level, message, fields}]}].
--             A failed job runs again at retry_at; or after its backoff, but
--             not before not_before
--   p_hint    the hint of the worker's last call, unread
-- Returns {settled: [{id, attempt, outcome, status}], jobs: [...], hint, next_due_at, now}. The outcome is ok; already
-- when this worker has settled this run before, so a call may be repeated after a lost response; or stale when the
-- fence refused it. An invalid result does not affect the others. A claim that fails undoes no settle; claim_error says
-- why. A claim is bounded by bytes as well (claim_bytes): more is true when it left out jobs for that reason. Children
-- of a success are enqueued with it, once; so are the steps that it adds to its workflow, and the workflows that it
-- starts. Logs are kept as the policy of the type says.
-- Who: workers, operators; a role bound to a tenant settles and gets that tenant's jobs only. Locks runs in id order;
-- waits for nothing that an application can hold. Claiming needs READ COMMITTED. A call that claims nothing, for no
-- types ('{}'), does not look up next_due_at.
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
  return (settle_and_claim(p_worker_id, p_results, p_claim_limit, p_types, p_tenant_id, p_hint, true)).document;
end $$;

-- The same call for a worker that parses JSON itself: returns the JSON as text, in one or several parts, which the
-- worker puts together. To build a jsonb of hundreds of jobs only to print it again takes an eighth of the time of the
-- whole call. Large payloads are parts of their own. A part may end anywhere.
-- Who, locks: as jobforge_settle_jobs.
create or replace function :"api_schema".jobforge_settle_jobs_text(
  p_worker_id text,
  p_results jsonb,
  p_claim_limit integer default 0,
  p_types text[] default null,
  p_tenant_id uuid default null,
  p_hint jsonb default null
) returns setof text
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_settled record := settle_and_claim(p_worker_id, p_results, p_claim_limit, p_types, p_tenant_id, p_hint, false);
begin
  if v_settled.apart is null then
    return next v_settled.response;
  else
    return query select x.part from parts_with_payloads(v_settled.response, v_settled.apart) x(part);
  end if;
end $$;

-- Does the work of both calls. Returns the JSON as text, with marks for the payloads of the jobs in apart; or with
-- p_parse as jsonb. The jobs are parsed where a failure undoes only the claim: a payload may be nested so deeply that
-- it cannot be parsed here.
create or replace function jobforge.settle_and_claim(
  p_worker_id text, p_results jsonb, p_claim_limit integer, p_types text[], p_tenant_id uuid, p_hint jsonb,
  p_parse boolean, out response text, out apart uuid[], out document jsonb
)
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
  v_claimed_jobs text := '[]';
  v_hint jsonb := case when unprintable(p_hint) is null then p_hint end;
  v_due timestamptz;
  v_more boolean := false;
  v_jobs jsonb;
  v_claim_error json;
begin
  if not is_worker_id(p_worker_id) then
    perform require_worker_id(p_worker_id);
  elsif jsonb_typeof(coalesce(p_results, '[]')) <> 'array' then
    perform fail_argument('results', 'results must be a JSON array');
  elsif p_claim_limit is null or p_claim_limit not between 0 and 1000 then
    perform fail_argument('claim_limit', 'claim_limit must be between 0 and 1000');
  elsif p_claim_limit > 0 then
    perform require_read_committed();
  end if;
  if jsonb_array_length(coalesce(p_results, '[]')) > 0 then
    v_settled := coalesce(settle_plain_success(p_worker_id, v_bound, p_results, v_now),
      settle(p_worker_id, v_bound, p_results, v_now));
  end if;
  if p_claim_limit > 0 then
    begin
      v_claimed := claim_documents(p_worker_id, p_claim_limit, p_types, v_tenant_id, v_now, v_hint);
      if p_parse then
        v_jobs := with_payloads(v_claimed.jobs, v_claimed.apart)::jsonb;
        v_claimed.jobs := '[]';
      end if;
      v_claimed_jobs := v_claimed.jobs;
      apart := v_claimed.apart;
      v_hint := v_claimed.hint;
      v_due := v_claimed.due;
      v_more := v_claimed.more;
    exception when others then
      v_jobs := null;
      v_claim_error := json_build_object('code', sqlstate, 'message', sqlerrm);
    end;
  end if;
  if (p_claim_limit = 0 or v_claim_error is not null) and (p_types is null or p_types <> '{}') then
    v_due := least(next_due(open_types(p_types, v_now, v_tenant_id), v_tenant_id), next_wakeup(v_tenant_id));
  end if;
  response := concat('{"settled":', v_settled, ',"jobs":', v_claimed_jobs, ',"hint":', coalesce(v_hint, 'null'),
    ',"next_due_at":', coalesce(to_json(v_due), 'null'),
    ',"now":', to_json(v_now), case when v_more then ',"more":true' end, ',"claim_error":' || v_claim_error,
    '}');
  if p_parse then
    document := response::jsonb || case when v_jobs is null then '{}' else jsonb_build_object('jobs', v_jobs) end;
  end if;
end $$;

-- Returns whether a document has a wide number, or so many levels that Postgres cannot find out.
create or replace function jobforge.may_have_wide_number(p_document jsonb) returns boolean
language plpgsql immutable as $$
begin
  return jobforge.has_wide_number(p_document);
exception when statement_too_complex then
  return true;
end $$;

-- Ends the runs of a JSON array and returns [{id, attempt, outcome, status}] in its order, as text. What is not an end
-- matches no job: a value that is not an object, and an end that may not be printed apart from its error, result,
-- children and logs, which are checked where they are read. All texts of all ends are made at once, so the whole
-- array counts.
create or replace function jobforge.settle(p_worker_id text, p_tenant_id uuid, p_results jsonb, p_now timestamptz)
returns text
language plpgsql as $$
declare
  v_results jsonb := p_results;
  v_ends jobforge.run_end[];
begin
  if jsonb_path_exists(v_results, 'strict $[*] ? (@.type() != "object")')
    or (pg_column_size(v_results) > jobforge.inline_bytes() and jobforge.may_have_wide_number(v_results))
  then
    v_results := (
      select jsonb_agg(case
          when jsonb_typeof(e.item) <> 'object'
            or jobforge.may_have_wide_number(
              e.item - array['error', 'result', 'children', 'logs', 'steps', 'workflows']) then '{}'
          else e.item
        end order by e.ord)
      from jsonb_array_elements(p_results) with ordinality e(item, ord));
  end if;
  v_ends := jobforge.read_ends(v_results, p_now);
  if jsonb_path_exists(v_results,
    'lax $[*] ? (exists (@.children) || exists (@.steps) || exists (@.workflows) || exists (@.wait))')
  then
    v_ends := jobforge.without_refused_types(v_ends, p_tenant_id);
    if jsonb_path_exists(v_results,
      'lax $[*] ? (exists (@.steps) || exists (@.workflows) || exists (@.wait.children[*].workflow))')
    then
      v_ends := jobforge.grow(v_ends, v_results, p_worker_id, p_tenant_id, p_now);
    end if;
  end if;
  return (
    -- Concatenated, in a third of the time that JSON functions take: ids, numbers and words need no escaping.
    select '[' || string_agg(concat(
      '{"id":', coalesce('"' || o.id || '"', (v_results -> (o.ord - 1) -> 'id')::text, 'null'),
      ',"attempt":', coalesce(o.attempt::text, 'null'),
      ',"outcome":"', o.outcome, '","status":', coalesce('"' || o.status || '"', 'null'), '}'),
      ',' order by o.ord) || ']'
    from unnest(jobforge.end_runs(p_worker_id, p_tenant_id, v_ends, p_now)) o);
end $$;
