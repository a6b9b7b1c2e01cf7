-- Returns whether a job of a better rank than the streams' is ready and may be claimed. Under a long transaction this
-- walks the dead entries of all better jobs that have been claimed. If it was costly, the question is not asked again
-- before `ask`, a fifth of a second later; until then the result is false.
create or replace function jobforge.more_urgent(
  p_types text[], p_streams jobforge.stream[], p_paused bigint[], p_tenant_id uuid, p_ask timestamptz,
  p_now timestamptz,
  out urgent boolean, out ask timestamptz
)
language plpgsql
set enable_sort = off as $$
declare
  v_pages bigint := jobforge.index_pages_read();
  v_rank integer := (p_streams[1]).rank;
begin
  if p_ask > p_now then
    urgent := false;
    ask := p_ask;
    return;
  end if;
  urgent := (
    select exists (
      select from unnest(p_types) t(type)
      cross join lateral (
        select from jobforge.queue j
        where j.state = 'ready' and j.type = t.type and j.rank < v_rank
        order by j.rank
        limit 1
      ) x));
  if urgent and (p_tenant_id is not null or cardinality(p_paused) > 0) then
    -- The better jobs may all be paused or another tenant's.
    urgent := exists (
      select from unnest(p_types) t(type)
      cross join lateral jobforge.next_open_rank(t.type, -2147483648, p_paused, jobforge.lane_of(p_tenant_id)) o
      where o.rank < v_rank);
  end if;
  if jobforge.is_costly(jobforge.index_pages_read() - v_pages, cardinality(p_types)) then
    ask := p_now + interval '200 milliseconds';
  end if;
end $$;
