-- Brings policies in line with what definitions say. p_policies is an object of types, each with the keys of
-- jobforge_set_policy that its definition names. p_version is the version of the application.
--
--   A version that JobForge meets for the first time is the newest, and its definitions are applied. An older version,
--   whose place a newer one has taken, changes nothing: a worker of the last deployment that restarts cannot undo the
--   new one. Versions are not compared as numbers, so any text will do: 1.4.2, a date, a commit.
--   A call without a version is applied if no call with a version came before.
--   A key that an operator has set by hand stays, unless the definition itself now says something else than before.
--   A key that the definition no longer names goes back to the default policy, unless it was set by hand.
--   p_force applies the definitions in spite of newer versions and of keys set by hand, and makes this version the
--   newest.
--
-- Returns for each type {type, action, changes, kept, kept_because, known, version, updated_by}. action is created,
-- changed or unchanged. changes and kept are lists of {key, from, to}; kept are the differences that stay, because
-- they were set_by_hand or come from a newer_version. known: the database knew before that this version says this; if
-- so, and nothing changes, the call writes nothing. version is the one in force. With p_dry_run it returns what would
-- happen, and changes nothing.
-- Who: operators; with p_dry_run also workers. JF002 for an unknown key or a value out of range. Waits for another
-- change of a policy, unless p_dry_run.
create or replace function :"api_schema".jobforge_sync_policies(
  p_policies jsonb, p_version text default null, p_force boolean default false, p_dry_run boolean default false
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_dry boolean := coalesce(p_dry_run, false);
  v_now timestamptz := jobforge.now();
  v_results jsonb := '[]';
  v_type text;
  v_policy jsonb;
begin
  if not v_dry then
    perform require_operator();
  end if;
  if p_policies is null or jsonb_typeof(p_policies) <> 'object' then
    perform fail_argument('policies', 'policies must be a JSON object of types');
  elsif p_version = '' or length(p_version) > 200 then
    perform fail_argument('version', 'version must have 1 to 200 characters');
  elsif p_policies ? '*' then
    perform fail_argument('policies', 'type "*" is the name of the default policy', 'Set it with jobforge_set_policy.');
  end if;
  if not v_dry then
    perform lock_policies();
  end if;
  for v_type, v_policy in select e.key, e.value from jsonb_each(p_policies) e order by e.key collate "C" loop
    v_results := v_results || sync_policy(
      v_type, read_policy(v_type, v_policy), coalesce(p_version, ''), coalesce(p_force, false), v_dry, v_now);
  end loop;
  return v_results;
end $$;

-- Does it for one type. The caller holds lock_policies(), unless p_dry.
create or replace function jobforge.sync_policy(
  p_type text, p_wanted jsonb, p_version text, p_force boolean, p_dry boolean, p_now timestamptz
) returns jsonb
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_before policies;
  v_last declarations;
  v_wanted jsonb;
  v_older boolean;
  v_keys policy_key[];
  v_changes jsonb;
  v_known boolean;
  v_action text := 'unchanged';
begin
  select p.* into v_before from policy_of(p_type) p;
  select d.* into v_last from declarations d where d.type = p_type order by d.seq desc limit 1;
  -- The values as the columns have them, so that they can be compared.
  select coalesce(jsonb_object_agg(e.key, e.value), '{}') into v_wanted
  from jsonb_each(to_jsonb(changed_policy(v_before, p_wanted))) e
  where p_wanted ? e.key;
  v_known := coalesce(v_last.version = p_version and v_last.settings = v_wanted, p_version = '' and v_wanted = '{}');
  v_older := not p_force and v_last.version <> p_version
    and (p_version = '' or exists (select from declarations d where d.type = p_type and d.version = p_version));
  v_keys := differing_keys(v_before, v_wanted, v_last.settings, coalesce(v_older, false), p_force);
  select coalesce(jsonb_object_agg(k.key, k.wanted), '{}') into v_changes from unnest(v_keys) k where k.kept is null;
  if v_older is not true then
    v_action := case
      when v_before.type = '*' and v_wanted <> '{}' then 'created'
      when v_changes <> '{}' then 'changed'
      else 'unchanged'
    end;
    if not p_dry then
      perform apply_declaration(v_before, p_type, v_changes, v_action, v_wanted, p_version, p_force, p_now);
      if not v_known then
        perform note_declaration(p_type, v_wanted, p_version, p_now);
      end if;
    end if;
  end if;
  return jsonb_build_object(
    'type', p_type, 'action', v_action, 'changes', listed_keys(v_keys, false), 'kept', listed_keys(v_keys, true),
    'kept_because', (select min(k.kept) from unnest(v_keys) k),
    'known', v_known or v_older is true,
    'version', nullif(case when v_older then v_last.version else p_version end, ''),
    'updated_by', case when v_before.type = p_type then v_before.updated_by end);
end $$;

-- Returns the keys in which a policy differs from a definition. p_last is what the definition in force says; null
-- without such a definition. kept says why the difference stays; null: the definition is applied.
create or replace function jobforge.differing_keys(
  p_policy jobforge.policies, p_wanted jsonb, p_last jsonb, p_older boolean, p_force boolean
) returns jobforge.policy_key[]
language sql stable as $$
  select array(
    select row(k.key, to_jsonb(p_policy) -> k.key, k.wanted,
      case
        when p_older then 'newer_version'
        when k.by_hand and not p_force and (not k.named or p_last is null or p_last -> k.key = k.wanted)
          then 'set_by_hand'
      end)::jobforge.policy_key
    from (
      select e.key, e.value as wanted, true as named, jobforge.is_by_hand(p_policy, e.key) as by_hand
      from jsonb_each(p_wanted) e
      union all
      -- What the definition no longer names.
      select e.key, to_jsonb(d) -> e.key, false, jobforge.is_by_hand(p_policy, e.key)
      from jsonb_each(p_last) e
      cross join jobforge.policy_of('*') d
      where not p_wanted ? e.key and not p_older
    ) k
    where to_jsonb(p_policy) -> k.key <> k.wanted and (k.named or not k.by_hand)
    order by k.key collate "C")
$$;

-- Returns keys as [{key, from, to}]: those that stay, or those that change.
create or replace function jobforge.listed_keys(p_keys jobforge.policy_key[], p_kept boolean) returns jsonb
language sql immutable as $$
  select coalesce(jsonb_agg(jsonb_build_object('key', k.key, 'from', k.current, 'to', k.wanted)), '[]')
  from unnest(p_keys) k
  where (k.kept is not null) = p_kept
$$;

-- Writes the changes of a policy that a definition asks for, with an audit entry.
create or replace function jobforge.apply_declaration(
  p_before jobforge.policies, p_type text, p_changes jsonb, p_action text, p_wanted jsonb, p_version text,
  p_force boolean, p_now timestamptz
) returns void
language plpgsql as $$
declare
  v_policy jobforge.policies := jobforge.changed_policy(p_before, p_changes);
begin
  v_policy.type := p_type;
  v_policy.by_hand := array(
    select h.key
    from unnest(p_before.by_hand) h(key)
    where p_before.type = p_type and not p_changes ? h.key and not (p_force and p_wanted ? h.key));
  if p_action = 'unchanged' and v_policy.by_hand = p_before.by_hand then
    return;
  elsif p_action = 'unchanged' and p_before.type = '*' then
    return;
  end if;
  v_policy.updated_at := p_now;
  v_policy.updated_by := jobforge.actor();
  perform jobforge.write_policy(v_policy);
  insert into jobforge.audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (p_now, jobforge.all_tenants(), v_policy.updated_by, 'POLICY_SYNCED', 'type', p_type,
    jsonb_build_object('changes', p_changes, 'version', nullif(p_version, ''), 'forced', p_force));
end $$;

-- Remembers what a version says about a type, as the newest.
create or replace function jobforge.note_declaration(
  p_type text, p_settings jsonb, p_version text, p_now timestamptz
) returns void
language plpgsql as $$
begin
  -- Also the versions before the newest ones, whose workers are long gone.
  delete from jobforge.declarations d
  where d.type = p_type
    and (d.version = p_version or d.seq not in (
      select n.seq from jobforge.declarations n where n.type = p_type order by n.seq desc
      limit jobforge.declarations_kept()));
  insert into jobforge.declarations (type, version, settings, declared_at, declared_by)
  values (p_type, p_version, p_settings, p_now, jobforge.actor());
end $$;
