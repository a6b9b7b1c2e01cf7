-- Returns the policy of a type: its own, or else the default ('*'). Postgres inlines it where it is joined.
create or replace function jobforge.policy_of(p_type text) returns setof jobforge.policies
language sql stable as $$
  select p.*
  from jobforge.policies p
  where p.type in (p_type, '*')
  order by p.type = '*'
  limit 1
$$;

-- Returns the rank of a priority that a caller asks for, capped by the policy of the type.
create or replace function jobforge.rank_for(p_type text, p_priority integer) returns integer
language plpgsql stable as $$
begin
  return (select jobforge.rank_of(p_priority, p.max_priority) from jobforge.policy_of(p_type) p);
end $$;

-- Returns whether an operator has set a key of the policy of a type by hand. The default policy ('*') does not count:
-- it is for types about which nothing else is known. One expression, so that Postgres inlines it.
create or replace function jobforge.is_by_hand(p_policy jobforge.policies, p_key text) returns boolean
language sql immutable as $$
  select p_policy.type <> '*' and p_key = any (p_policy.by_hand)
$$;

-- Returns how many executions a new job gets. The first of these counts: what the caller asked for with the job; what
-- an operator has set by hand for the type; what the job's definition says; the policy. So a definition needs no
-- operator to take effect, and a number that an operator sets in an incident applies to new jobs of every caller. One
-- expression, so that Postgres inlines it.
create or replace function jobforge.attempts_for(
  p_asked integer, p_defined integer, p_policy integer, p_by_hand boolean
) returns integer
language sql immutable as $$
  select coalesce(p_asked, case when not p_by_hand then p_defined end, p_policy)
$$;

-- Returns how long a job waits after its n-th failed or lost run: least(cap, base * factor^(n-1)), changed by up to the
-- share of jitter in either direction. Clamped before the cast, so attempt 100,000 waits a year at most and does not
-- overflow.
create or replace function jobforge.backoff(p_policy jobforge.policies, p_failures integer) returns interval
language sql volatile as $$
  select make_interval(secs => round((
    least(
      coalesce(p_policy.cap_ms, 31536000000)::double precision,
      p_policy.base_ms * power(p_policy.factor, least(greatest(p_failures - 1, 0), 100)))
    * (1 + p_policy.jitter * (2 * random() - 1)))::numeric, 0)::double precision / 1000)
$$;

-- Returns the names of the presets. preset() also accepts their older names, which no error recommends.
create or replace function jobforge.preset_names() returns text[]
language sql immutable parallel safe as $$
  select array['standard', 'quick', 'gentle', 'patient', 'webhook']
$$;

-- Returns the numbers of a preset; null for an unknown name.
create or replace function jobforge.preset(p_name text) returns jsonb
language sql immutable as $$
  select case
    when p_name in ('standard', 'jobforge') then '{"base_ms": 1000, "cap_ms": 3600000, "factor": 2, "max_attempts": 5}'
    when p_name in ('quick', 'harmonyk') then '{"base_ms": 1000, "cap_ms": 60000, "factor": 2, "max_attempts": 6}'
    when p_name in ('gentle', 'atlas') then '{"base_ms": 10000, "cap_ms": null, "factor": 2, "max_attempts": 4}'
    when p_name in ('patient', 'processing')
      then '{"base_ms": 30000, "cap_ms": 600000, "factor": 2, "max_attempts": 5}'
    when p_name = 'webhook'
      then '{"base_ms": 5000, "cap_ms": 36000000, "factor": 5, "jitter": 0.2, "max_attempts": 12}'
  end::jsonb
$$;
