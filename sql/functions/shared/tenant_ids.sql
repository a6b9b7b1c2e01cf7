-- Ids of tenants that are not uuids. The SDKs and the server do the same; conformance/vectors/tenant-id.json has the
-- examples that all of them are tested with.

-- Returns the tenant for an id that an application uses. A uuid, in any spelling that Postgres accepts, is that tenant.
-- Any other text is the version 5 uuid of its UTF-8 bytes in JobForge's namespace. Null for null, and for a text that
-- names no tenant; see is_tenant_text.
create or replace function jobforge.tenant_of_text(p_text text) returns uuid
language plpgsql immutable parallel safe as $$
declare
  v_uuid uuid := jobforge.uuid_or_null(p_text);
  v_hash bytea;
begin
  if v_uuid is not null or p_text is null then
    return v_uuid;
  elsif p_text ~ '^(\{[0-9a-fA-F]{4}(-?[0-9a-fA-F]{4}){7}\}|[0-9a-fA-F]{4}(-?[0-9a-fA-F]{4}){7})$' then
    return p_text::uuid;
  elsif not jobforge.is_tenant_text(p_text) then
    return null;
  end if;
  v_hash := jobforge.sha1(uuid_send(jobforge.tenant_namespace()) || convert_to(p_text, 'UTF8'));
  v_hash := substring(v_hash from 1 for 16);
  v_hash := set_byte(v_hash, 6, (get_byte(v_hash, 6) & 15) | 80);
  v_hash := set_byte(v_hash, 8, (get_byte(v_hash, 8) & 63) | 128);
  return encode(v_hash, 'hex')::uuid;
end $$;

-- Returns whether a text that is not a uuid may be the id of a tenant: 1 to 255 characters, without control characters
-- and without white space at either end. A text that a mistake makes is refused, because it would silently be a tenant
-- of its own: a uuid with a digit too few or too many, what a program writes when it has no id, zero, a negative number
-- and a fraction.
create or replace function jobforge.is_tenant_text(p_text text) returns boolean
language plpgsql immutable parallel safe as $$
declare
  v_space constant text := '[ \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]';
begin
  return length(p_text) between 1 and 255
    and p_text !~ '[\u0001-\u001f\u007f-\u009f]'
    and p_text !~ ('^' || v_space || '|' || v_space || '$')
    and p_text !~ '^[0-9a-fA-F{}-]{30,40}$'
    and p_text !~ '^(-[0-9]+|0+|-?[0-9]+[.][0-9]+)$'
    -- In the collation C, lower changes the same letters in every database.
    and lower(p_text collate "C") not in ('undefined', 'null', 'nil', 'none', 'nan', 'true', 'false', '[object object]');
end $$;

-- Returns the tenant that a claim names: a text, or a positive whole number that every JSON parser reads exactly. Null
-- for any other value.
create or replace function jobforge.tenant_of_claim(p_claim jsonb) returns uuid
language sql immutable parallel safe as $$
  select case jsonb_typeof(p_claim)
    when 'string' then jobforge.tenant_of_text(p_claim #>> '{}')
    when 'number' then
      case when p_claim::numeric between 1 and 9007199254740991 and p_claim::numeric = trunc(p_claim::numeric)
        then jobforge.tenant_of_text(p_claim::numeric::bigint::text)
      end
  end
$$;

-- Returns the namespace of the uuids of tenants. It never changes, because the ids of tenants depend on it.
create or replace function jobforge.tenant_namespace() returns uuid
language sql immutable parallel safe as $$
  select '6f1d6a3e-6d0b-4c1e-9d52-3a5b8f0c7e41'::uuid
$$;

-- Returns the SHA-1 hash of some bytes, which Postgres has only in an extension. Version 5 uuids are defined by it.
create or replace function jobforge.sha1(p_bytes bytea) returns bytea
language plpgsql immutable strict parallel safe as $$
declare
  v_mask constant bigint := 4294967295;
  v_padding constant integer := (119 - length(p_bytes) % 64) % 64;
  v_message constant bytea := p_bytes || '\x80' || decode(repeat('00', v_padding), 'hex')
    || int8send(length(p_bytes)::bigint * 8);
  v_words bigint[];
  v_hash bigint[] := array[1732584193, 4023233417, 2562383102, 271733878, 3285377520];
  a bigint;
  b bigint;
  c bigint;
  d bigint;
  e bigint;
  f bigint;
  v_next bigint;
begin
  for block in 0 .. length(v_message) / 64 - 1 loop
    v_words := array(
      select (get_byte(v_message, i)::bigint << 24) | (get_byte(v_message, i + 1)::bigint << 16)
        | (get_byte(v_message, i + 2)::bigint << 8) | get_byte(v_message, i + 3)::bigint
      from generate_series(block * 64, block * 64 + 60, 4) i);
    for t in 17 .. 80 loop
      v_next := v_words[t - 3] # v_words[t - 8] # v_words[t - 14] # v_words[t - 16];
      v_words[t] := ((v_next << 1) | (v_next >> 31)) & v_mask;
    end loop;
    a := v_hash[1];
    b := v_hash[2];
    c := v_hash[3];
    d := v_hash[4];
    e := v_hash[5];
    for t in 1 .. 80 loop
      f := case
        when t <= 20 then ((b & c) | ((v_mask # b) & d)) + 1518500249
        when t <= 40 then (b # c # d) + 1859775393
        when t <= 60 then ((b & c) | (b & d) | (c & d)) + 2400959708
        else (b # c # d) + 3395469782
      end;
      v_next := ((((a << 5) | (a >> 27)) & v_mask) + f + e + v_words[t]) & v_mask;
      e := d;
      d := c;
      c := ((b << 30) | (b >> 2)) & v_mask;
      b := a;
      a := v_next;
    end loop;
    v_hash := array[(v_hash[1] + a) & v_mask, (v_hash[2] + b) & v_mask, (v_hash[3] + c) & v_mask,
      (v_hash[4] + d) & v_mask, (v_hash[5] + e) & v_mask];
  end loop;
  return (
    select string_agg(substring(int8send(h) from 5), '' order by n) from unnest(v_hash) with ordinality w(h, n));
end $$;
