-- Returns whether a job of a better rank than the streams' is ready. Under a long transaction this walks the dead
-- entries of all better jobs that have been claimed. If it was costly, the question is not asked again before `ask`, a
-- fifth of a second later; until then the result is false.
create or replace function jobforge.more_urgent(
  p_types text[], p_streams jobforge.stream[], p_ask timestamptz, p_now timestamptz,
  out urgent boolean, out ask timestamptz
)
language plpgsql
set enable_sort = off as $$
declare
  v_pages bigint := jobforge.index_pages_read();
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
        select from jobforge.jobs j
        where j.state = 'ready' and j.type = t.type and j.rank < (p_streams[1]).rank
        order by j.rank
        limit 1
      ) x));
  if jobforge.is_costly(jobforge.index_pages_read() - v_pages, cardinality(p_types)) then
    ask := p_now + interval '200 milliseconds';
  end if;
end $$;
