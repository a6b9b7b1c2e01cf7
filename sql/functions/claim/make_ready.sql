-- Makes ready what has become due: waiting jobs, and runs of schedules; those of one tenant, or of all with null.
-- p_limit and p_floor are as in jobforge.promote. Returns how many jobs became ready, or at least p_limit when there
-- may be more, and when the next one becomes due. The search for that time also shows whether a schedule is due. Never
-- waits.
create or replace function jobforge.make_ready(
  p_types text[], p_tenant_id uuid, p_now timestamptz, p_limit integer, p_floor timestamptz default '-infinity',
  out promoted integer, out due timestamptz
)
language plpgsql as $$
begin
  select p.promoted, p.due into promoted, due from jobforge.promote(p_types, p_tenant_id, p_now, p_limit, p_floor) p;
  if due <= p_now or exists (select from jobforge.schedule_ends) then
    if jobforge.fire(p_types, p_tenant_id, p_now, p_floor) then
      promoted := greatest(promoted, p_limit);
    end if;
    due := jobforge.next_due(p_types, p_tenant_id, p_floor);
  end if;
end $$;
