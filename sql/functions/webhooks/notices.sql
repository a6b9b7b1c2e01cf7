-- Notices: the enqueue of a job may name whom to tell about its end, in addition to the tenant's endpoints.

-- Returns what is wrong with the notify of a job: {field, message}, or null. It is {url, secret, endpoint_id, on}:
-- one of url and endpoint_id, the name of a secret for a URL, and the statuses to notify of.
create or replace function jobforge.problem_with_notify(p_notify jsonb) returns text[]
language plpgsql stable as $$
declare
  v_on jsonb := p_notify -> 'on';
begin
  return case
    when jsonb_typeof(p_notify) <> 'object' or p_notify - '{url,secret,endpoint_id,on}'::text[] <> '{}'
      then array['notify', 'notify must be an object with url or endpoint_id, and with secret and on if wanted']
    when p_notify ? 'url' = p_notify ? 'endpoint_id'
      then array['notify', 'notify must have one of url and endpoint_id']
    when p_notify ? 'url' and jobforge.problem_with_url(jobforge.text_under(p_notify, 'url')) is not null
      then array['notify.url', 'url ' || jobforge.problem_with_url(jobforge.text_under(p_notify, 'url'))]
    when p_notify ? 'endpoint_id' and jobforge.uuid_or_null(jobforge.text_under(p_notify, 'endpoint_id')) is null
      then array['notify.endpoint_id', 'endpoint_id must be the id of an endpoint']
    when p_notify ? 'secret' and (p_notify ? 'endpoint_id'
        or not coalesce(jobforge.text_under(p_notify -> 'secret', '$secret') ~ '^[A-Z][A-Z0-9_]{0,63}$', false)
        or (p_notify -> 'secret') - '$secret' <> '{}')
      then array['notify.secret', 'secret must be {"$secret": "NAME"}, and belongs to a url']
    when p_notify ? 'on' and (not jobforge.are_texts(v_on) or v_on = '[]'
        or not v_on <@ '["succeeded", "failed", "dead", "canceled"]')
      then array['notify.on', 'on must be a list of succeeded, failed, dead and canceled']
  end;
end $$;

-- Raises JF016 for a job of a call that names an endpoint which the tenant does not have.
create or replace function jobforge.require_notified(p_tenant_id uuid, p_jobs jobforge.new_job[]) returns void
language plpgsql stable as $$
begin
  perform jobforge.fail_no_endpoint(e) from jobforge.unknown_endpoints(p_tenant_id, p_jobs) e;
end $$;

-- Returns the endpoints that jobs of a call name, and that the tenant does not have.
create or replace function jobforge.unknown_endpoints(p_tenant_id uuid, p_jobs jobforge.new_job[]) returns setof uuid
language sql stable
set enable_seqscan = off as $$
  select n.endpoint_id
  from (select distinct (j.notify ->> 'endpoint_id')::uuid as endpoint_id from unnest(p_jobs) j) n
  where n.endpoint_id is not null and not exists (
    select from jobforge.webhook_endpoints w where w.id = n.endpoint_id and w.tenant_id = p_tenant_id)
$$;

-- Remembers whom to tell about those of the jobs that this transaction has created: the others have other ids.
create or replace function jobforge.keep_notices(p_tenant_id uuid, p_jobs jobforge.new_job[]) returns void
language sql
set enable_seqscan = off as $$
  insert into jobforge.job_notices (job_id, tenant_id, target, events, live)
  select j.id, p_tenant_id, j.notify - 'on',
    array(
      select 'job.' || o
      from jsonb_array_elements_text(coalesce(j.notify -> 'on', '["succeeded", "failed", "dead", "canceled"]')) o),
    true
  from unnest(p_jobs) j
  where j.notify is not null
    -- A subquery with a limit is asked for one job at a time: EXISTS may become a hash table of the whole queue.
    and (select true from jobforge.live_rows l where l.id = j.id limit 1)
$$;
