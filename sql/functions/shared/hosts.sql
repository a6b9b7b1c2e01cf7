-- Hosts, addresses, ports and headers, as connectors read them. What is saved is checked like this, so that a mistake
-- is refused at once and does not delay every job. All languages are tested with the cases of conformance/egress.json.

-- Returns whether a value is a list of texts, none of them empty.
create or replace function jobforge.are_texts(p_value jsonb) returns boolean
language sql immutable as $$
  select jsonb_typeof(p_value) = 'array'
    and not jsonb_path_exists(p_value, 'strict $[*] ? (@.type() != "string" || @ == "")', silent => true)
$$;

-- Returns whether a value is a list of hosts, at least one.
create or replace function jobforge.are_hosts(p_value jsonb) returns boolean
language sql immutable as $$
  select coalesce(jobforge.are_texts(p_value) and p_value <> '[]', false) and not exists (
    select from jsonb_array_elements_text(case when jobforge.are_texts(p_value) then p_value else '[]' end) h
    where not jobforge.is_host(h))
$$;

-- Returns whether a text names hosts: a name, *.example.com or an address, perhaps with a port. A whole public
-- top-level domain is refused.
create or replace function jobforge.is_host(p_text text) returns boolean
language plpgsql immutable as $$
declare
  v_parts text[] := regexp_match(p_text,
    '^(\*\.)?(\[[0-9a-fA-F:.]+\]|(?:[A-Za-z0-9_.-]|[^\x01-\x7f])+)(?::([0-9]{1,5}))?$');
  v_host text := lower(v_parts[2]);
  v_labels text[] := string_to_array(regexp_replace(v_host, '\.$', ''), '.');
begin
  if v_parts is null then
    return jobforge.is_address(p_text);
  elsif v_parts[3]::integer not between 1 and 65535 then
    return false;
  elsif v_host ~ '^\[' or v_labels[cardinality(v_labels)] ~ '^[0-9]+$' then
    return v_parts[1] is null and jobforge.is_address(btrim(v_host, '[]'));
  end if;
  return '' <> all (v_labels) and (v_parts[1] is null or cardinality(v_labels) > 1 or v_host = any (
    array['localhost', 'local', 'internal', 'intranet', 'lan', 'home', 'corp', 'svc', 'arpa']));
end $$;

-- Returns whether a text is an IPv4 or IPv6 address, in full.
create or replace function jobforge.is_address(p_text text) returns boolean
language plpgsql immutable as $$
begin
  return p_text ~ '^((0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}|[0-9a-fA-F:]*:[0-9a-fA-F:.]*)$'
    and p_text::inet is not null;
exception when data_exception then
  return false;
end $$;

-- Returns whether a text is a DNS server: an address, perhaps with a port.
create or replace function jobforge.is_server(p_text text) returns boolean
language sql immutable as $$
  select jobforge.is_address(p_text) or coalesce((
    select jobforge.is_address(coalesce(m[1], m[2])) and coalesce(m[3]::integer between 1 and 65535, true)
    from regexp_match(p_text, '^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+))(?::([0-9]{1,5}))?$') m), false)
$$;

-- Returns whether a value is a list of ports and of ranges of ports.
create or replace function jobforge.are_ports(p_value jsonb) returns boolean
language sql immutable as $$
  select jsonb_typeof(p_value) = 'array' and not exists (
    select from jsonb_array_elements(case jsonb_typeof(p_value) when 'array' then p_value else '[]' end) p
    where not case jsonb_typeof(p)
      when 'number' then p::numeric between 1 and 65535 and p::numeric = trunc(p::numeric)
      when 'string' then p #>> '{}' ~ '^[0-9]{1,5}-[0-9]{1,5}$'
      else false
    end)
$$;

-- Returns whether a value is a list of networks, such as 10.1.0.0/16. Postgres reads 10/8 as well, workers do not.
create or replace function jobforge.are_networks(p_value jsonb) returns boolean
language sql immutable as $$
  select jobforge.are_texts(p_value) and not exists (
    select from jsonb_array_elements_text(case when jobforge.are_texts(p_value) then p_value else '[]' end) n
    cross join lateral (select regexp_match(n, '^([^/]+)/([0-9]{1,3})$') as parts) m
    where not coalesce(jobforge.is_address(m.parts[1])
      and m.parts[2]::integer <= case when m.parts[1] like '%:%' then 128 else 32 end, false))
$$;

-- Returns what is wrong with the headers that a tenant wants to be sent: texts, or references to secrets, by their
-- names; null if nothing is.
create or replace function jobforge.problem_with_headers(p_headers jsonb) returns text
language sql immutable as $$
  select case
    when jsonb_typeof(p_headers) <> 'object' then 'must be an object of names with texts, or {"$secret": "NAME"}'
    else (
      select case when jobforge.is_own_header(h.key) then format('must not have %s: JobForge sets it, or it is unsafe', h.key)
        else format('must have a text of visible ASCII, or {"$secret": "NAME"}, under a valid name: %s is not', h.key) end
      from jsonb_each(case jsonb_typeof(p_headers) when 'object' then p_headers else '{}' end) h
      where jobforge.is_own_header(h.key) or h.key !~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]{1,100}$'
        or case jsonb_typeof(h.value)
          when 'string' then h.value #>> '{}' !~ '^[\x20-\x7e]*$'
          when 'object' then h.value - '$secret' <> '{}'
            or coalesce(h.value ->> '$secret', '') !~ '^[A-Z][A-Z0-9_]{0,63}$'
          else true
        end
      limit 1)
  end
$$;

-- Returns whether connectors set a header themselves, or refuse it because it could open a metadata service or confuse
-- a proxy.
create or replace function jobforge.is_own_header(p_name text) returns boolean
language sql immutable as $$
  select lower(p_name) ~ '^(proxy-|x-forwarded-|webhook-|x-jobforge-|x-aws-ec2-metadata-token|x-google-)'
    or lower(p_name) = any (array['host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive', 'te',
      'trailer', 'upgrade', 'expect', 'forwarded', 'via', 'metadata', 'metadata-flavor', 'x-metadata-token'])
$$;
