-- Sends a signal to a workflow, or to a job whose handler waits for signals. A step that waits for its name ends with
-- the payload as its result; otherwise the signal is kept until such a step opens. Each signal is taken once, the
-- oldest first. Returns {outcome: created|existing, taken}: whether a step has taken it.
--   p_target_id the workflow or the job
--   p_key       makes the call idempotent: a second signal of the same name and key is not sent, also after the end
-- Who: the tenant itself, workers, operators. JF011 if there is no such workflow or it has ended; JF014 if 1,000
-- signals wait in its mailbox. Waits only for another transaction that sends a signal with the same key.
create or replace function :"api_schema".jobforge_send_signal(
  p_tenant_id uuid, p_target_id uuid, p_name text, p_payload jsonb default null, p_key text default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_bytes integer := text_bytes(p_payload);
  v_id bigint;
  v_taken boolean;
  v_workflow boolean := exists (
    select from workflows w where w.id = p_target_id and w.tenant_id = p_tenant_id and w.status = 'running');
begin
  perform require_tenant(p_tenant_id);
  if coalesce(p_name, '') = '' or length(p_name) > 200 then
    perform fail_argument('name', 'name of a signal must have 1 to 200 characters');
  elsif p_key = '' or length(p_key) > 200 then
    perform fail_argument('key', 'key must have 1 to 200 characters');
  elsif v_bytes > document_bytes() then
    perform fail('JF008', 'Payload too large: payload is over 1 MiB', 'payload_too_large', 'payload',
      'Store it elsewhere and pass a reference.');
  elsif v_bytes < 0 then
    perform fail_argument('payload', 'payload ' || document_problem(v_bytes));
  end if;
  -- A call that is repeated may come after the end of the workflow, which the first one has brought about.
  if p_key is not null then
    select g.taken_by is not null into v_taken
    from signals g
    where g.target_id = p_target_id and g.name = p_name and g.key = p_key and g.tenant_id = p_tenant_id;
    if found then
      return jsonb_build_object('outcome', 'existing', 'taken', v_taken);
    end if;
  end if;
  if not v_workflow and not exists (
    select from live_rows j where j.id = p_target_id and j.tenant_id = p_tenant_id)
  then
    perform fail_workflow_ended();
  elsif (
    select count(*) > 999
    from (select from signals g where g.target_id = p_target_id and g.taken_by is null limit 1000) g)
  then
    perform fail_workflow_limit('target_id', 'more than 1000 signals that no step has taken');
  end if;
  insert into signals (tenant_id, target_id, name, key, payload, sent_at, sent_by)
  values (p_tenant_id, p_target_id, p_name, p_key, p_payload, v_now, actor())
  on conflict do nothing
  returning id into v_id;
  if v_id is null then
    return jsonb_build_object('outcome', 'existing', 'taken', exists (
      select from signals g
      where g.target_id = p_target_id and g.name = p_name and g.key = p_key and g.taken_by is not null));
  end if;
  if v_workflow then
    perform deliver_mail(p_target_id, v_now);
  else
    perform deliver_to_job(p_target_id, v_now);
  end if;
  v_taken := exists (select from signals g where g.id = v_id and g.taken_by is not null);
  if not v_taken then
    -- A step that is opening, or a run that is being suspended at this moment, does not see the signal, and is not
    -- seen. The next claim looks again.
    insert into wakeups (tenant_id, node_id, what, due_at) values (p_tenant_id, p_target_id, 'mail', v_now);
    perform wake_all(v_now);
  end if;
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (v_now, p_tenant_id, actor(), 'SIGNAL_SENT',
    case when v_workflow then 'workflow' else 'job' end, p_target_id::text,
    jsonb_build_object('signal', p_name));
  return jsonb_build_object('outcome', 'created', 'taken', v_taken);
end $$;
