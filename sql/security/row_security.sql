-- Every table of the kernel has row security, leaves and tables to come included. Where an API view reads one, its
-- owner jobforge_view sees the caller's tenant, or every tenant for an operator who names none. The rule is a range, not an
-- "or", so that it stays an index condition.
do $$
declare
  v_table record;
begin
  for v_table in
    select c.oid, c.relname,
      c.relname in ('jobs', 'payloads', 'cancel_requests', 'attempts', 'archive', 'connector_configs', 'audit_log',
        'schedules', 'schedule_ends', 'usage') as shown
    from pg_class c
    where c.relnamespace = 'jobforge'::regnamespace and c.relkind in ('r', 'p')
  loop
    if not (select c.relrowsecurity from pg_class c where c.oid = v_table.oid) then
      execute format('alter table jobforge.%I enable row level security', v_table.relname);
    end if;
    if v_table.shown and not exists (select from pg_policy p where p.polrelid = v_table.oid) then
      execute format(
        'create policy visible_to_the_caller on jobforge.%I for select to jobforge_view
           using (tenant_id between (select jobforge.visible_from()) and (select jobforge.visible_to()))',
        v_table.relname);
    end if;
  end loop;
end $$;
