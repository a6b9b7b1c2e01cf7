-- Workflows and steps with the columns and types of the API. As in api.sql, the views of the API copy the text of the
-- private ones and have another owner. Columns are only appended.

create or replace view jobforge.all_workflows as
select
  w.id,
  w.tenant_id,
  w.name::text,
  w.version,
  w.status::text,
  w.reason,
  w.input,
  w.output,
  w.idempotency_key::text,
  w.dedupe_key::text,
  w.subject::text,
  w.tags::text[],
  -w.rank as priority,
  w.created_at,
  w.finished_at,
  w.deadline,
  w.on_failure,
  w.cancel_at,
  w.cancel_by,
  w.cancel_reason,
  w.keep_days as retention_days,
  w.traceparent,
  w.step_count,
  (select t.label from jobforge.tenants t where t.tenant_id = w.tenant_id) as tenant_label,
  w.parent_id
from jobforge.workflows w;

-- A step that has not ended is blocked by its needs; open: a map or a group whose members run; waiting: for a signal;
-- or what its job is: queued or running.
create or replace view jobforge.all_steps as
select
  s.id,
  s.workflow_id,
  s.group_id,
  s.tenant_id,
  s.path,
  s.name,
  s.kind::text,
  s.type::text,
  case
    when s.status is not null then case when s.reason = 'skipped' then 'skipped' else s.status::text end
    when s.kind = 'job' and s.decided_at is not null then coalesce(
      (select 'running' from jobforge.runs r where r.id = s.job_id),
      'queued')
    when s.opened_at is null then 'blocked'
    when s.kind = 'signal' then 'waiting'
    else 'open'
  end as status,
  s.reason,
  coalesce(s.spec -> 'needs', '[]') as needs,
  s.job_id,
  s.ord as index,
  s.opened_at,
  s.decided_at,
  s.ended_at,
  s.payload,
  s.result,
  s.error,
  s.cost_cents,
  s.optional,
  s.cleanup
from jobforge.steps s
where s.kind <> 'root';

-- Signals in the mailboxes of workflows and jobs, with those that were taken.
create or replace view jobforge.all_signals as
select g.target_id, g.tenant_id, g.id, g.name::text, g.key::text, g.payload, g.sent_at, g.sent_by, g.taken_by, g.taken_as
from jobforge.signals g;

-- What durable steps have saved, and what their jobs wait for.
create or replace view jobforge.all_checkpoints as
select
  c.job_id, c.tenant_id, c.name::text, c.kind::text, c.attempt, c.value, c.error, c.signals::text[], c.children,
  c.due_at, c.tries, c.done, c.at
from jobforge.checkpoints c;

do $$
begin
  execute format('create or replace view %I.jobforge_workflows as %s', :'api_schema',
    pg_get_viewdef('jobforge.all_workflows'::regclass));
  execute format('create or replace view %I.jobforge_steps as %s', :'api_schema',
    pg_get_viewdef('jobforge.all_steps'::regclass));
  execute format('create or replace view %I.jobforge_signals as %s', :'api_schema',
    pg_get_viewdef('jobforge.all_signals'::regclass));
  execute format('create or replace view %I.jobforge_checkpoints as %s', :'api_schema',
    pg_get_viewdef('jobforge.all_checkpoints'::regclass));
end $$;

alter view :"api_schema".jobforge_workflows owner to jobforge_view;
alter view :"api_schema".jobforge_steps owner to jobforge_view;
alter view :"api_schema".jobforge_signals owner to jobforge_view;
alter view :"api_schema".jobforge_checkpoints owner to jobforge_view;
