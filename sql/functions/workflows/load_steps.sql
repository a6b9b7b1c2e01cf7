-- Returns the checkpoints of a job for a run that continues: {steps: [{name, kind, value, error, signals, due_at,
-- tries, done}], children: [{wait, count, open}], cursor}. A page has up to 1,000 checkpoints and about 8 MiB; pass
-- cursor as p_after for the next one. Results of children are read with jobforge_read_results.
-- Who: workers, operators. JF003 when the worker does not hold the job (or not in this attempt).
create or replace function :"api_schema".jobforge_load_steps(
  p_job_id uuid, p_worker_id text, p_attempt integer default null, p_after text default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_run runs := held_run(p_job_id, p_worker_id, p_attempt);
  v_node uuid := coalesce(v_run.step_id, v_run.id);
  v_steps jsonb;
  v_last text;
begin
  select coalesce(jsonb_agg(p.document order by p.name) filter (where p.fits), '[]'),
    case when count(*) > count(*) filter (where p.fits) then max(p.name) filter (where p.fits) end
  into v_steps, v_last
  from (
    select c.name, c.nth <= 1000 and c.bytes_before < page_bytes() as fits, jsonb_strip_nulls(jsonb_build_object('name', c.name, 'kind', c.kind, 'error', c.error,
        'signals', to_jsonb(c.signals), 'due_at', c.due_at, 'tries', nullif(c.tries, 0)))
      || jsonb_build_object('value', c.value, 'done', c.done or case c.kind when 'sleep' then c.due_at <= v_now
        else c.children and not exists (
          select from edges e join steps s on s.id = e.need_id
          where e.dependent_id = v_node and s.spec ->> 'wait' = c.name
            and coalesce((s.spec ->> 'job')::uuid, v_node) = p_job_id) end) as document
    from (
      select f.*, row_number() over w as nth,
        sum(f.bytes) over (w rows between unbounded preceding and current row) - f.bytes as bytes_before
      from (
        select c.*, coalesce(octet_length(c.value::text), 0) as bytes
        from checkpoints c
        where c.job_id = p_job_id and (p_after is null or c.name > p_after)
        order by c.job_id, c.name
        limit 1001
      ) f
      window w as (order by f.name)
    ) c
  ) p;
  return jsonb_build_object('steps', v_steps, 'cursor', v_last, 'children', (
    select coalesce(jsonb_agg(jsonb_build_object('wait', w.wait, 'count', w.count, 'open', w.open)), '[]')
    from (
      select s.spec ->> 'wait' as wait, count(*), count(*) filter (where s.status is null) as open
      from steps s
      where s.group_id = v_node and s.name is not null and s.spec ? 'wait' and p_after is null
        and coalesce((s.spec ->> 'job')::uuid, v_node) = p_job_id
      group by 1
    ) w));
end $$;
