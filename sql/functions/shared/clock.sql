-- Defines jobforge.now() and jobforge.new_id() for this server and this installation. Their usual bodies are one
-- expression each, which Postgres inlines; a jobforge.now() that reads a flag would cost 25 times as much. Owner only.
create or replace function jobforge.define_clock() returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_travel boolean := coalesce((select time_travel from installation), false);
  v_native boolean := current_setting('server_version_num')::int >= 180000;
  v_offset text := $x$coalesce(nullif(current_setting('jobforge.clock_offset', true), '')::interval, interval '0')$x$;
  v_now text := 'clock_timestamp()';
  v_id text := 'uuidv7()';
begin
  if v_travel then
    v_now := v_now || ' + ' || v_offset;
    v_id := 'uuidv7(' || v_offset || ')';
  end if;
  if not v_native then
    v_id := 'jobforge.uuid_at(' || v_now || ')';
  end if;
  -- The clock of the database, moved by jobforge.clock_offset where time travel is allowed. Read it once per call.
  execute format(
    'create or replace function jobforge.now() returns timestamptz language sql volatile parallel safe as %L',
    'select ' || v_now);
  -- A new job id: a UUIDv7, so that ids are in the order of time and new index entries are side by side.
  execute format(
    'create or replace function jobforge.new_id() returns uuid language sql volatile parallel safe as %L',
    'select ' || v_id);
end $$;

-- Returns a UUIDv7 of a time, for servers without uuidv7(): 48 bits of milliseconds, 12 bits of the fraction of the
-- millisecond, and 62 random bits.
create or replace function jobforge.uuid_at(p_at timestamptz) returns uuid
language sql volatile parallel safe as $$
  select encode(
    substring(int8send((us / 1000)::bigint) from 3)
    || int2send((x'7000'::int + us % 1000 * 4096 / 1000)::int2)
    || substring(uuid_send(gen_random_uuid()) from 9), 'hex')::uuid
  from (select (extract(epoch from p_at) * 1000000)::bigint as us) t
$$;

-- Returns the time in a UUIDv7: no later than the creation of the job, to the millisecond.
create or replace function jobforge.time_of(p_id uuid) returns timestamptz
language sql immutable parallel safe as $$
  select to_timestamp(
    ('x' || lpad(substr(replace(p_id::text, '-', ''), 1, 12), 16, '0'))::bit(64)::bigint / 1000.0)
$$;

-- Allows sessions of this database to move JobForge's clock with the setting jobforge.clock_offset. For tests only: a
-- tenant could use it to jump the queue. Owner only.
create or replace function jobforge.allow_time_travel(p_allowed boolean) returns void
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  update installation set time_travel = p_allowed;
  perform define_clock();
end $$;

select jobforge.define_clock();
