-- Raises JF002 for an unknown filter, so that a typing error never widens a list or a bulk cancel.
create or replace function jobforge.require_filters(p_filters jsonb, p_known text[]) returns void
language plpgsql stable as $$
declare
  v_unknown text;
begin
  if jsonb_typeof(p_filters) <> 'object' then
    perform jobforge.fail_argument('filters', 'filters must be a JSON object');
  end if;
  -- A bulk change writes its filters to the audit log, and a page of that log has room for several rows.
  if pg_column_size(p_filters #> '{}') > jobforge.document_bytes() then
    perform jobforge.fail('JF008', 'Payload too large: filters are over 1 MiB', 'payload_too_large', 'filters',
      'Call several times, with a part of the values each.');
  end if;
  perform jobforge.require_printable(p_filters, 'filters');
  select k into v_unknown from jsonb_object_keys(p_filters) k where k <> all (p_known) limit 1;
  if found then
    perform jobforge.fail_argument(v_unknown, format('unknown filter %s', v_unknown),
      'Known filters: ' || array_to_string(p_known, ', ') || '.');
  end if;
end $$;

-- Returns the texts under a key that may hold one text or an array of texts. JF002 for anything else.
create or replace function jobforge.filter_texts(p_filters jsonb, p_key text) returns text[]
language plpgsql immutable as $$
declare
  v_value jsonb := p_filters -> p_key;
begin
  if v_value is null or v_value = 'null' then
    return null;
  elsif jsonb_typeof(v_value) = 'string' then
    return array[v_value #>> '{}'];
  elsif jsonb_typeof(v_value) = 'array' and not jsonb_path_exists(v_value, 'strict $[*] ? (@.type() != "string")') then
    return array(select jsonb_array_elements_text(v_value));
  end if;
  perform jobforge.fail_argument(p_key, format('%s must be a text or an array of texts', p_key));
end $$;

-- Returns the text under a key. JF002 for anything else: an array here would match nothing, without a word.
create or replace function jobforge.filter_string(p_filters jsonb, p_key text) returns text
language plpgsql immutable as $$
begin
  if jsonb_typeof(p_filters -> p_key) not in ('string', 'null') then
    perform jobforge.fail_argument(p_key, p_key || ' must be a text');
  end if;
  return p_filters ->> p_key;
end $$;

-- Returns the time, number, id of a job or such, or id of a row under a key, as text. JF002 when it is not a valid one.
create or replace function jobforge.filter_text(p_filters jsonb, p_key text, p_kind text) returns text
language plpgsql stable as $$
declare
  v_text text := p_filters ->> p_key;
begin
  case p_kind
    when 'time' then perform v_text::timestamptz;
    when 'number' then perform v_text::integer;
    when 'id' then perform v_text::uuid;
    when 'row id' then perform v_text::bigint;
  end case;
  return v_text;
exception when data_exception then
  perform jobforge.fail_argument(p_key, format('%s must be a %s', p_key, p_kind));
end $$;

-- Returns the flag under a key; null when it is not given. JF002 for anything else.
create or replace function jobforge.filter_flag(p_filters jsonb, p_key text) returns boolean
language plpgsql immutable as $$
begin
  if jsonb_typeof(p_filters -> p_key) not in ('boolean', 'null') then
    perform jobforge.fail_argument(p_key, p_key || ' must be true or false');
  end if;
  return (p_filters ->> p_key)::boolean;
end $$;

-- Returns how many rows a page has: 50 by default, at most 1000.
create or replace function jobforge.filter_limit(p_filters jsonb) returns integer
language sql stable as $$
  select least(greatest(coalesce(jobforge.filter_text(p_filters, 'limit', 'number')::integer, 50), 1), 1000)
$$;

-- Returns the ids under a key that holds an array of at most 1,000 ids. JF002 for anything else.
create or replace function jobforge.filter_ids(p_filters jsonb, p_key text) returns uuid[]
language plpgsql stable as $$
declare
  v_texts text[] := jobforge.filter_texts(p_filters, p_key);
begin
  if cardinality(v_texts) > 1000 then
    perform jobforge.fail_argument(p_key, format('%s must have at most 1000 ids', p_key), 'Call again for the others.');
  end if;
  return v_texts::uuid[];
exception when invalid_text_representation then
  perform jobforge.fail_argument(p_key, format('%s must be ids', p_key));
end $$;

-- Returns the first or the last id that begins with a text of 4 to 36 hex digits and dashes.
create or replace function jobforge.prefix_bound(p_prefix text, p_fill text) returns uuid
language plpgsql immutable as $$
declare
  v_digits text := replace(lower(p_prefix), '-', '');
begin
  if p_prefix is not null and v_digits !~ '^[0-9a-f]{4,32}$' then
    perform jobforge.fail_argument('id_prefix', 'id_prefix must be the first 4 to 32 hex digits of an id');
  end if;
  return rpad(v_digits, 32, p_fill)::uuid;
end $$;

-- Reads and checks the filters that people search by. See jobforge.job_filter.
create or replace function jobforge.read_more_filters(p_filters jsonb) returns jobforge.job_filter
language plpgsql stable as $$
declare
  v jobforge.job_filter;
begin
  v.phase := jobforge.filter_string(p_filters, 'phase');
  v.at := jobforge.now();
  v.ids := jobforge.filter_ids(p_filters, 'ids');
  v.id_from := jobforge.prefix_bound(jobforge.filter_string(p_filters, 'id_prefix'), '0');
  v.id_to := jobforge.prefix_bound(p_filters ->> 'id_prefix', 'f');
  v.worker := jobforge.filter_string(p_filters, 'worker');
  v.schedule_id := jobforge.filter_text(p_filters, 'schedule_id', 'id');
  v.concurrency_key := jobforge.filter_string(p_filters, 'concurrency_key');
  v.idempotency_key := jobforge.filter_string(p_filters, 'idempotency_key');
  v.trace_id := jobforge.filter_string(p_filters, 'trace_id');
  v.reasons := jobforge.filter_texts(p_filters, 'reason');
  v.priority := jobforge.filter_text(p_filters, 'priority', 'number');
  v.attempts_min := jobforge.filter_text(p_filters, 'attempts_min', 'number');
  v.tags_any := jobforge.filter_texts(p_filters, 'tags_any');
  v.payload := nullif(p_filters -> 'payload', 'null');
  if v.phase not in ('due', 'scheduled', 'retrying') then
    perform jobforge.fail_argument('phase', 'phase must be due, scheduled or retrying');
  elsif jsonb_typeof(v.payload) not in ('object', 'array') then
    perform jobforge.fail_argument('payload', 'payload must be a JSON object or array',
      'Jobs match if their payload contains it, such as {"to": "ada@example.com"}.');
  end if;
  return v;
end $$;

-- Returns the filters that no index finds. Searches, counts and bulk changes have them; lists, which read on until
-- their page is full, do not.
create or replace function jobforge.search_filters() returns text[]
language sql immutable as $$
  select array['phase', 'worker', 'concurrency_key', 'idempotency_key', 'trace_id', 'reason', 'priority',
    'attempts_min', 'tags_any', 'payload']
$$;

-- Reads and checks the filters of a list of jobs. p_more: further keys that the caller reads itself. A limit over 1000
-- becomes 1000.
create or replace function jobforge.read_filters(p_filters jsonb, p_more text[] default '{}')
returns jobforge.job_filter
language plpgsql stable as $$
declare
  v_filters jsonb := coalesce(p_filters, '{}');
  v_known constant text[] := p_more || array[
    'status', 'type', 'tags', 'subject', 'error_contains', 'error_group', 'created_after', 'created_before',
    'finished_after', 'finished_before', 'limit', 'offset', 'cursor', 'ids', 'id_prefix', 'schedule_id'];
  v jobforge.job_filter;
begin
  perform jobforge.require_filters(v_filters, v_known);
  v := jobforge.read_more_filters(v_filters);
  v.statuses := jobforge.filter_texts(v_filters, 'status');
  v.types := jobforge.filter_texts(v_filters, 'type');
  v.tags := jobforge.filter_texts(v_filters, 'tags');
  v.subject := jobforge.filter_string(v_filters, 'subject');
  v.error_contains := jobforge.filter_string(v_filters, 'error_contains');
  v.error_group := jobforge.filter_string(v_filters, 'error_group');
  v.created_after := jobforge.filter_text(v_filters, 'created_after', 'time');
  v.created_before := jobforge.filter_text(v_filters, 'created_before', 'time');
  v.finished_after := jobforge.filter_text(v_filters, 'finished_after', 'time');
  v.finished_before := jobforge.filter_text(v_filters, 'finished_before', 'time');
  v.before_id := jobforge.filter_text(v_filters, 'cursor', 'id');
  v.row_limit := least(coalesce(jobforge.filter_text(v_filters, 'limit', 'number')::integer, 50), 1000);
  v.row_offset := coalesce(jobforge.filter_text(v_filters, 'offset', 'number')::integer, 0);
  if not v.statuses <@ (jobforge.live_statuses() || jobforge.finished_statuses()) then
    perform jobforge.fail_argument('status', 'status must be '
      || jobforge.one_of(jobforge.live_statuses() || jobforge.finished_statuses()));
  elsif v.row_limit < 1 then
    perform jobforge.fail_argument('limit', 'limit must be at least 1');
  elsif v.row_offset not between 0 and 100000 then
    perform jobforge.fail_argument('offset', 'offset must be between 0 and 100000', 'Use cursor to go further.');
  end if;
  return v;
end $$;
