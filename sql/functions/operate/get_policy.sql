-- Returns the policy of a type: its own, or the default policy, whose type is '*'.
-- Who: operators, workers.
create or replace function :"api_schema".jobforge_get_policy(p_type text) returns jsonb
language sql stable
security definer
set search_path = jobforge, pg_temp as $$
  select to_jsonb(p) from policy_of(p_type) p
$$;
