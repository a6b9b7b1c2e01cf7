-- Returns the types that an operator cares about by name: those with a policy of their own, and those that a live
-- worker of all tenants has handlers for.
create or replace function jobforge.preferred_types(p_now timestamptz) returns setof text
language sql stable as $$
  select p.type::text from jobforge.policies p where p.type <> '*'
  union
  select unnest(jobforge.worker_types(w.info))
  from jobforge.workers w
  where w.scope = jobforge.all_tenants() and jobforge.is_alive(w, p_now)
$$;

-- Returns the label of each type in figures by type: its name, or '*' for the rest where there are more than 1,000
-- types. Named are the preferred types first, then those with the most jobs. No type has the name '*'. So the size of a
-- result does not depend on how many types tenants make up. p_types may name a type more than once.
create or replace function jobforge.labels(p_types text[], p_jobs numeric[], p_now timestamptz)
returns table (type text, label text)
language plpgsql stable as $$
begin
  return query
  select n.type, case when n.place <= jobforge.most_types_shown() then n.type else '*' end
  from (
    select t.type, row_number() over (
      order by t.type in (select jobforge.preferred_types(p_now)) desc, t.jobs desc, t.type) as place
    from (select u.type, sum(u.jobs) as jobs from unnest(p_types, p_jobs) u(type, jobs) group by u.type) t
  ) n;
end $$;
