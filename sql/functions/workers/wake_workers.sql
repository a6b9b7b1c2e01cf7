-- Wakes the sleeping workers that have a handler for the types, for jobs that were enqueued with p_notify => false: one
-- NOTIFY for many such jobs after they are committed, instead of one in each commit. p_wakes: {type: time of its
-- earliest job, or null for now}, up to 1000 types. Best effort: workers also poll.
-- Who: the roles that may enqueue. Locks nothing.
create or replace function :"api_schema".jobforge_wake_workers(p_wakes jsonb) returns void
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
begin
  if p_wakes is null or jsonb_typeof(p_wakes) <> 'object' then
    perform fail_argument('wakes', 'wakes must be a JSON object of types and times');
  end if;
  perform require_printable(p_wakes, 'wakes');
  perform wake(k.type, filter_text(p_wakes, k.type, 'time')::timestamptz, v_now)
  from (select t as type from jsonb_object_keys(p_wakes) t limit 1000) k;
end $$;
