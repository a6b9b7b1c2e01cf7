-- Enqueues up to 50,000 jobs of one tenant in the caller's transaction, all or none. Each is an object with the keys
-- of jobforge_enqueue_job without p_; that of p_notify_to is notify. Returns [{id, outcome}] in the order of the
-- input. If the tenant's quotas have no room for all of them, none is enqueued (JF007). With p_partial the first
-- jobs that fit are enqueued, and the result of each other job is {id: null, outcome: rejected}. A payload that is
-- stored outside the database is kept as long as its job: see functions/artifacts/bind_payloads.sql.
-- Who: the tenant itself, workers, operators. JF002 or JF008 names the first invalid job, such as jobs[3].type. Keys
-- are taken in sorted order, so two calls with the same keys cannot deadlock. Waits only for another transaction that
-- holds one of the keys.
create or replace function :"api_schema".jobforge_enqueue_jobs(
  p_tenant_id uuid,
  p_jobs jsonb,
  p_notify boolean default true,
  p_partial boolean default false
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_jobs new_job[];
  v_types text[];
  v_fitting_types text[];
  v_room bigint;
  v_fitting integer[];
  v_created bigint;
  v_results jsonb;
  v_has_notices boolean;
  v_has_stored boolean;
begin
  perform require_tenant(p_tenant_id);
  if p_jobs is null or jsonb_typeof(p_jobs) <> 'array' then
    perform fail_argument('jobs', 'jobs must be a JSON array');
  elsif jsonb_array_length(p_jobs) > 50000 then
    perform fail_argument('jobs', 'more than 50000 jobs in one call', 'Split them over several calls.');
  end if;
  v_jobs := read_jobs(p_jobs, v_now);
  perform require_valid(v_jobs, v_now, true);
  -- Everything that concerns the whole call is found in one pass, because each reads every job.
  select coalesce(array_agg(t.type order by t.ord), '{}'), bool_or(t.has_notices), bool_or(t.has_stored)
  into v_types, v_has_notices, v_has_stored
  from (
    select j.type, min(j.ord) as ord, bool_or(j.notify is not null) as has_notices,
      bool_or(j.payload ? '$artifact') as has_stored
    from unnest(v_jobs) j
    group by j.type
  ) t;
  v_fitting_types := types_that_fit(p_tenant_id, v_types);
  if v_fitting_types is not null then
    if not p_partial then
      perform fail_types(p_tenant_id, (
        select format('jobs[%s].type', min(j.ord) - 1) from unnest(v_jobs) j where j.type <> all (v_fitting_types)));
    end if;
    v_jobs := array(select j from unnest(v_jobs) j where j.type = any (v_fitting_types) order by j.ord);
    v_fitting := array(select j.ord from unnest(v_jobs) j order by j.ord);
  end if;
  perform register_types(p_tenant_id, coalesce(v_fitting_types, v_types), v_now);
  v_room := room_of(p_tenant_id);
  if p_partial and v_room < cardinality(v_jobs) then
    v_fitting := jobs_that_fit(p_tenant_id, v_jobs, v_room);
    v_jobs := array(select j from unnest(v_jobs) j where j.ord = any (v_fitting) order by j.ord);
  end if;
  -- One array of rows becomes JSON in half the time that an object for each takes.
  select to_jsonb(array_agg(r)), count(*) filter (where r.outcome = 'created')
  into v_results, v_created
  from (
    select e.id, e.outcome from enqueue(p_tenant_id, v_jobs, v_now, coalesce(p_notify, true)) e order by e.ord
  ) r;
  if v_has_notices then
    perform require_notified(p_tenant_id, v_jobs);
    perform keep_notices(p_tenant_id, v_jobs);
  end if;
  if v_has_stored then
    perform bind_payloads(p_tenant_id, v_jobs, v_results, v_now);
  end if;
  if v_fitting is not null then
    return with_rejected(coalesce(v_results, '[]'), v_fitting, jsonb_array_length(p_jobs));
  elsif v_created > 0 and v_room is not null then
    perform require_room(p_tenant_id, 0);
  end if;
  return coalesce(v_results, '[]');
end $$;

-- Returns the results of the jobs at p_places of a call of p_jobs, with a rejection in every other place.
create or replace function jobforge.with_rejected(p_results jsonb, p_places integer[], p_jobs integer) returns jsonb
language sql immutable as $$
  select jsonb_agg(coalesce(r.result, '{"id": null, "outcome": "rejected"}') order by o.ord)
  from generate_series(1, p_jobs) o(ord)
  left join (
    select f.ord, e.result
    from unnest(p_places) with ordinality f(ord, place)
    join jsonb_array_elements(p_results) with ordinality e(result, place) on e.place = f.place
  ) r on r.ord = o.ord
$$;
