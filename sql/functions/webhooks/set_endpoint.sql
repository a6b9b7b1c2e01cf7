-- Endpoints as tenants write them.

-- Creates an endpoint, or changes the given keys of the endpoint p_endpoint_id; null sets a key to its default. Keys:
-- url, description, events, job_types, tags, include, format, signature, headers, ordered, retry_schedule, master_key
-- (of a new endpoint). Returns the endpoint's document. A new endpoint gets events from the commit on.
-- Who: the tenant itself, operators. JF002 for an invalid key and for more than 50 endpoints, JF016 if there is no such
-- endpoint. Locks the endpoint's row, or for a new one the tenant's oldest one; no settle waits for it.
create or replace function :"api_schema".jobforge_set_webhook_endpoint(
  p_tenant_id uuid, p_endpoint jsonb, p_endpoint_id uuid default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_old webhook_endpoints;
  v_new webhook_endpoints;
begin
  perform require_tenant(p_tenant_id);
  perform require_endpoint_keys(p_endpoint, p_endpoint_id is null);
  if p_endpoint_id is not null then
    v_old := lock_endpoint(p_tenant_id, p_endpoint_id);
  else
    perform require_endpoint_room(p_tenant_id);
  end if;
  v_new := read_endpoint(v_old, p_endpoint, v_now);
  if problem_with_url(v_new.url) is not null then
    perform fail_argument('url', 'url ' || problem_with_url(v_new.url));
  end if;
  if p_endpoint_id is null then
    v_new.id := new_id();
    v_new.tenant_id := p_tenant_id;
    insert into webhook_endpoints select v_new.*;
    insert into webhook_health (endpoint_id) values (v_new.id);
  else
    update webhook_endpoints w
    set url = v_new.url, description = v_new.description, events = v_new.events, job_types = v_new.job_types,
      tags = v_new.tags, include = v_new.include, format = v_new.format, signature = v_new.signature,
      headers = v_new.headers, ordered = v_new.ordered, retry_schedule = v_new.retry_schedule,
      updated_at = v_new.updated_at, updated_by = v_new.updated_by
    where w.id = p_endpoint_id;
  end if;
  if v_new.ordered is distinct from coalesce(v_old.ordered, false) then
    perform set_ordered(p_tenant_id, webhook_type(), v_new.id::text, v_new.ordered, v_now);
  end if;
  perform audit_endpoint(v_new, 'WEBHOOK_ENDPOINT_SET', v_now, jsonb_build_object('keys', (
    select jsonb_agg(k order by k) from jsonb_object_keys(p_endpoint) k)));
  return endpoint_document(v_new.id, v_now);
end $$;

-- Raises JF002 if a tenant may not have one more endpoint: each event is delivered to all of them. Calls that create
-- endpoints at the same time wait for each other at the oldest one, so that they cannot exceed the limit together.
create or replace function jobforge.require_endpoint_room(p_tenant_id uuid) returns void
language plpgsql
set enable_seqscan = off as $$
begin
  perform from jobforge.webhook_endpoints w
  where w.tenant_id = p_tenant_id
  order by w.id
  limit 1
  for update;
  if (select count(*) from jobforge.webhook_endpoints w where w.tenant_id = p_tenant_id) >= 50 then
    perform jobforge.fail_argument('endpoint', 'a tenant has at most 50 endpoints', 'Delete one that is not used.');
  end if;
end $$;

-- Raises JF002 for a document that is not an object or has an unknown key.
create or replace function jobforge.require_endpoint_keys(p_endpoint jsonb, p_new boolean) returns void
language plpgsql stable as $$
declare
  v_known text[] := array['url', 'description', 'events', 'job_types', 'tags', 'include', 'format', 'signature',
    'headers', 'ordered', 'retry_schedule'] || case when p_new then array['master_key'] else '{}' end;
  v_unknown text;
begin
  perform jobforge.require_printable(p_endpoint, 'endpoint');
  if p_endpoint is null or jsonb_typeof(p_endpoint) <> 'object' or octet_length(p_endpoint::text) > 65536 then
    perform jobforge.fail_argument('endpoint', 'endpoint must be a JSON object of at most 64 kB',
      'Such as {"url": "https://example.com/hooks"}.');
  end if;
  select k into v_unknown from jsonb_object_keys(p_endpoint - v_known) k limit 1;
  if found then
    perform jobforge.fail_argument(v_unknown, format('unknown key %s', v_unknown),
      'Known keys: ' || array_to_string(v_known, ', ') || '.');
  end if;
end $$;

-- Returns an endpoint with the changes of a document. Raises JF002, which names the first key that is wrong.
create or replace function jobforge.read_endpoint(
  p_old jobforge.webhook_endpoints, p_changes jsonb, p_now timestamptz
) returns jobforge.webhook_endpoints
language plpgsql stable as $$
declare
  v jobforge.webhook_endpoints := p_old;
  v_key text := coalesce(p_changes ->> 'master_key', 'default');
begin
  if p_changes ? 'url' or v.url is null then
    v.url := jobforge.text_under(p_changes, 'url');
  end if;
  if p_changes ? 'description' then
    v.description := p_changes ->> 'description';
  end if;
  if octet_length(v.description) > 1024 then
    perform jobforge.fail_argument('description', 'description is longer than 1024 bytes');
  end if;
  v.events := jobforge.words_of(p_changes, 'events', v.events, jobforge.terminal_events());
  v.job_types := jobforge.words_of(p_changes, 'job_types', v.job_types, '{}');
  v.tags := jobforge.words_of(p_changes, 'tags', v.tags, '{}');
  v.include := jobforge.words_of(p_changes, 'include', v.include, '{}');
  v.format := jobforge.word_of(p_changes, 'format', v.format, array['standard', 'cloudevents', 'legacy', 'raw']);
  v.signature := jobforge.word_of(p_changes, 'signature', v.signature, array['standard', 'both', 'ed25519']);
  if not v.include <@ array['payload', 'result'] then
    perform jobforge.fail_argument('include', 'include must be a list of payload and result');
  elsif v.format = 'legacy' and v.signature = 'ed25519' then
    perform jobforge.fail_argument('signature', 'signature ed25519 has no legacy format',
      'The older signature is an HMAC. Choose another format.');
  elsif cardinality(v.events) = 0 then
    perform jobforge.fail_argument('events', 'events must name at least one type', 'Such as job.dead, job.* or *.');
  elsif jsonb_typeof(p_changes -> 'ordered') not in ('boolean', 'null') then
    perform jobforge.fail_argument('ordered', 'ordered must be true or false');
  elsif v_key !~ '^[A-Za-z0-9_-]{1,64}$' then
    perform jobforge.fail_argument('master_key', 'master_key must be the name of a master key, not the key itself');
  end if;
  v.ordered := coalesce(
    case when p_changes ? 'ordered' then (p_changes ->> 'ordered')::boolean else v.ordered end, false);
  v.headers := jobforge.headers_of(p_changes, coalesce(v.headers, '{}'));
  v.retry_schedule := jobforge.retry_schedule_of(p_changes, v.retry_schedule);
  v.keys := coalesce(v.keys, jsonb_build_array(jsonb_build_object('version', 1, 'master_key', v_key)));
  v.state := coalesce(v.state, 'enabled');
  v.created_at := coalesce(v.created_at, p_now);
  v.updated_at := p_now;
  v.updated_by := jobforge.actor();
  return v;
end $$;

-- Returns the events that an endpoint gets if it names none: those about jobs that have finished.
create or replace function jobforge.terminal_events() returns text[]
language sql immutable parallel safe as $$
  select array['job.succeeded', 'job.failed', 'job.dead', 'job.canceled']
$$;

-- Returns a list of texts of a document; p_old if it has none, and p_default for null.
create or replace function jobforge.words_of(p_document jsonb, p_key text, p_old text[], p_default text[])
returns text[]
language plpgsql stable as $$
declare
  v_value jsonb := p_document -> p_key;
  v_words text[];
begin
  if not p_document ? p_key or v_value = 'null' then
    return case when p_document ? p_key then p_default else coalesce(p_old, p_default) end;
  elsif jsonb_typeof(v_value) = 'array'
    and not jsonb_path_exists(v_value, 'strict $[*] ? (@.type() != "string")')
  then
    v_words := array(select w from jsonb_array_elements_text(v_value) with ordinality x(w, ord) order by ord);
    if cardinality(v_words) <= 50 and octet_length(array_to_string(v_words, '')) <= 4000 and '' <> all (v_words) then
      return v_words;
    end if;
  end if;
  perform jobforge.fail_argument(p_key, p_key || ' must be at most 50 texts, none empty, of 4000 bytes in total');
end $$;

-- Returns one of several words of a document; p_old if it has none, and the first word for null.
create or replace function jobforge.word_of(p_document jsonb, p_key text, p_old text, p_words text[]) returns text
language plpgsql stable as $$
declare
  v_word text := case when p_document ? p_key then p_document ->> p_key else p_old end;
begin
  if v_word <> all (p_words) then
    perform jobforge.fail_argument(p_key, p_key || ' must be ' || jobforge.one_of(p_words));
  end if;
  return coalesce(v_word, p_words[1]);
end $$;

-- Returns the headers of a document: names, with texts or references to secrets.
create or replace function jobforge.headers_of(p_document jsonb, p_old jsonb) returns jsonb
language plpgsql stable as $$
declare
  v_headers jsonb := case when p_document ? 'headers' then coalesce(nullif(p_document -> 'headers', 'null'), '{}')
    else p_old end;
begin
  if jobforge.problem_with_headers(v_headers) is not null then
    perform jobforge.fail_argument('headers', 'headers ' || jobforge.problem_with_headers(v_headers),
      'A secret is stored where the workers are, and named here.');
  end if;
  return v_headers;
end $$;

-- Returns the waits of a document in seconds; null: those of the type's policy.
create or replace function jobforge.retry_schedule_of(p_document jsonb, p_old integer[]) returns integer[]
language plpgsql stable as $$
declare
  v_value jsonb := p_document -> 'retry_schedule';
begin
  if not p_document ? 'retry_schedule' then
    return p_old;
  elsif v_value = 'null' then
    return null;
  elsif not jobforge.are_waits(v_value) then
    perform jobforge.fail_argument('retry_schedule', 'retry_schedule must be 1 to 50 waits of 1 to 86400 seconds');
  end if;
  return array(select s::integer from jsonb_array_elements_text(v_value) with ordinality x(s, ord) order by ord);
end $$;

-- Returns whether a value is a list of 1 to 50 waits in seconds.
create or replace function jobforge.are_waits(p_value jsonb) returns boolean
language sql immutable as $$
  select jsonb_typeof(p_value) = 'array'
    and jsonb_array_length(case jsonb_typeof(p_value) when 'array' then p_value else '[]' end) between 1 and 50
    and not exists (
      select from jsonb_array_elements(case jsonb_typeof(p_value) when 'array' then p_value else '[]' end) s
      where s = 'null' or not coalesce(jobforge.setting_is_between(s, 1, 86400), false))
$$;

-- Returns what is wrong with a URL that no worker would deliver to, for an early and clear error; null if nothing
-- is. Workers check it again before each delivery, together with the addresses that its name resolves to. What this
-- cannot know, such as a worker's own settings, is left to them.
create or replace function jobforge.problem_with_url(p_url text) returns text
language plpgsql immutable as $$
declare
  v_parts text[] := regexp_match(p_url,
    '^(https?)://(\[[0-9a-fA-F:.]+\]|[^/?#@:\\\[\]]+)(?::([0-9]{1,5}))?(?:[/?#][^\\]*)?$');
  v_host text := lower(v_parts[2]);
  v_address inet;
begin
  if v_parts is null or octet_length(p_url) > 8192 or p_url !~ '^[\x21-\x7e]+$' then
    return 'must be a URL such as https://example.com/hooks, in ASCII, without a user or a password';
  end if;
  begin
    v_address := btrim(v_host, '[]')::inet;
  exception when data_exception then
    null;
  end;
  if v_address << any (array['169.254.0.0/16', '0.0.0.0/8', '224.0.0.0/3']::inet[])
    or v_host in ('metadata.google.internal', '168.63.129.16', '100.100.100.200')
  then
    return 'must not be the address of a network or of its metadata service';
  end if;
  return null;
end $$;

-- Records who changed an endpoint.
create or replace function jobforge.audit_endpoint(
  p_endpoint jobforge.webhook_endpoints, p_action text, p_now timestamptz, p_meta jsonb default '{}'
) returns void
language sql as $$
  insert into jobforge.audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (p_now, p_endpoint.tenant_id, jobforge.actor(), p_action, 'webhook_endpoint', p_endpoint.id::text, p_meta)
$$;
