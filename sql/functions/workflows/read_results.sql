-- Returns a page of results for the handler of a run: of the children of one of its waits, of the items of a map that
-- its step needs, or of one step. {items: [{index, status, result, error}], next}: pass next as p_after for the next
-- page. A child that is a workflow has its id as workflow_id.
-- Who: workers, operators. JF003 when the worker does not hold the job (or not in this attempt), JF002 if there is no
-- such wait or step. A page has up to p_limit results and about 8 MiB.
create or replace function :"api_schema".jobforge_read_results(
  p_job_id uuid, p_worker_id text, p_step text, p_attempt integer default null, p_after integer default -1,
  p_limit integer default 1000
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_run runs := held_run(p_job_id, p_worker_id, p_attempt);
  v_node uuid := coalesce(v_run.step_id, v_run.id);
  v_step steps;
  v_items jsonb;
  v_next integer;
begin
  if p_limit is null or p_limit not between 1 and 1000 then
    perform fail_argument('limit', 'limit must be between 1 and 1000');
  end if;
  select s.* into v_step
  from steps o
  join steps s on s.group_id = o.group_id and s.name = p_step
  where o.id = v_run.step_id;
  if v_step.id is null and not exists (
    select from checkpoints c where c.job_id = p_job_id and c.name = p_step and c.children)
  then
    perform fail_argument('step', format('there is no wait and no step %s', p_step));
  end if;
  with found as (
    select i.* from steps i
    where i.group_id = case v_step.kind when 'map' then v_step.id end and i.name is null and i.ord > p_after
    union all
    select i.* from steps i where i.id = case when v_step.kind <> 'map' then v_step.id end
    union all
    select i.* from steps i
    where i.group_id = case when v_step.id is null then v_node end and i.name is not null and i.ord > p_after
      and i.spec ->> 'wait' = p_step and coalesce((i.spec ->> 'job')::uuid, v_node) = p_job_id
    order by ord
    limit p_limit
  ), measured as (
    select f.*, coalesce(octet_length(f.result::text), 0) as bytes from found f
  ), page as (
    select m.*, sum(m.bytes) over (order by m.ord) - m.bytes < page_bytes() as fits from measured m
  )
  select coalesce(jsonb_agg(jsonb_build_object('index', i.ord, 'job_id', i.job_id, 'status',
      case when i.reason = 'skipped' then 'skipped' else i.status end, 'result', i.result, 'error', i.error)
      || case when i.kind = 'root' then jsonb_build_object('workflow_id', i.id) else '{}' end
      order by i.ord) filter (where i.fits), '[]'),
    case when count(*) = p_limit or not bool_and(i.fits) then max(i.ord) filter (where i.fits) end
  into v_items, v_next
  from page i;
  return jsonb_build_object('items', v_items, 'next', case when v_step.id is null or v_step.kind = 'map' then v_next end);
end $$;
