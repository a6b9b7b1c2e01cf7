-- Gives every table of the kernel row security, also leaves and tables of later versions. On the tables that API views
-- read, a policy lets the owner of the views, jobforge_view, see the rows of the caller's tenant, or of every tenant
-- for an operator who names no tenant. The policy compares with a range and has no "or", so that it remains an index
-- condition.
do $$
declare
  v_table record;
begin
  for v_table in
    select c.oid, c.relname,
      c.relname in ('queue', 'runs', 'payloads', 'cancel_requests', 'attempts', 'archive', 'connector_configs',
        'audit_log', 'schedules', 'schedule_ends', 'usage', 'tenants', 'job_logs', 'workflows', 'steps',
        'signals', 'checkpoints') as shown
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
