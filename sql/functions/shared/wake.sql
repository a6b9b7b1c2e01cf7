-- Wakes the sleeping workers that have a handler for the type. A NOTIFY in every commit would halve the commit rate, so
-- it is sent only if a worker has marked itself idle; otherwise the call is one index lookup. The payload is the
-- type, and for work in the future a second line with its time. Best effort: workers also poll.
create or replace function jobforge.wake(p_type text, p_run_at timestamptz, p_now timestamptz) returns void
language plpgsql as $$
begin
  if exists (select from jobforge.idle_workers i where i.type in (p_type, '*')) then
    perform pg_notify('jobforge_wake', p_type || case when p_run_at > p_now
      then to_char(p_run_at at time zone 'UTC', E'\nYYYY-MM-DD"T"HH24:MI:SS.US"Z"') else '' end);
  end if;
end $$;

-- Wakes every sleeping worker, for work of any type.
create or replace function jobforge.wake_all(p_now timestamptz) returns void
language plpgsql as $$
begin
  perform pg_notify('jobforge_wake', t.type)
  from (select distinct i.type from jobforge.idle_workers i) t;
end $$;
