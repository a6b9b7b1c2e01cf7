-- Wakes the workers that sleep and have a handler for the type. A NOTIFY in every commit would halve the commit rate,
-- so it is sent only when a worker has marked itself idle; without one this is a look into an index. The payload is the
-- type, and for work that lies ahead a second line with its time. Waking is a courtesy: workers poll all the same.
create or replace function jobforge.wake(p_type text, p_run_at timestamptz, p_now timestamptz) returns void
language plpgsql as $$
begin
  if exists (select from jobforge.idle_workers i where i.type in (p_type, '*')) then
    perform pg_notify('jobforge_wake', p_type || case when p_run_at > p_now
      then to_char(p_run_at at time zone 'UTC', E'\nYYYY-MM-DD"T"HH24:MI:SS.US"Z"') else '' end);
  end if;
end $$;

-- Wakes every worker that sleeps, for work of any type.
create or replace function jobforge.wake_all(p_now timestamptz) returns void
language plpgsql as $$
begin
  perform pg_notify('jobforge_wake', t.type)
  from (select distinct i.type from jobforge.idle_workers i) t;
end $$;
