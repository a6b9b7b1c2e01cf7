-- Masks secrets. Errors that handlers report are masked before they are stored, so the errors of every client are.
-- packages/worker-ts/src/reporting/redact.ts masks the worker's log by the same rules, and a test gives both the same
-- cases.

-- Returns whether a key contains a well-known word for a secret.
create or replace function jobforge.names_secret(p_key text) returns boolean
language sql immutable as $$
  select p_key ~* '(passw(or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|authorization'
    '|credential|cookie)'
$$;

-- Returns whether a text, or the JSON of a text, may hold a secret. Every match of a rule of redact_text and every key
-- that names a secret contain a match of this pattern. It takes a tenth of the time of the rules, and most errors hold
-- nothing that any of them could begin with.
create or replace function jobforge.may_hold_secret(p_text text) returns boolean
language sql immutable as $$
  select p_text ~* (
    '-----BEGIN|://[^\s/"'']*@|authorization|bearer|eyJ|[spr]k[-_]|gh[pousr]_|github_pat_|glpat-|npm_|xox|AKIA|AIza'
    '|passw(or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|cookie')
$$;

-- Returns a text with its secrets masked: private keys, credentials in URLs, Authorization headers and bearer tokens,
-- tokens of a known form, and the values after key= or key: of keys that name a secret or that the type's policy lists
-- (p_listed).
create or replace function jobforge.redact_text(p_text text, p_listed text[]) returns text
language plpgsql immutable as $$
declare
  -- What may be between a key and its value, and the value: masked already, quoted (also inside a quoted text), or up
  -- to the next separator.
  v_value constant text := '(\\?["'']?\s*[=:]\s*)(\[redacted\]|\\?"[^"]*("|$)|''[^'']*(''|$)|[^\s"''\\,;&)}\]]+)';
  v_listed text := (
    select string_agg(regexp_replace(l, '([^[:alnum:]_])', '\\\1', 'g'), '|') from unnest(p_listed) l where l <> '');
  v_text text := p_text;
begin
  if v_listed is null and not jobforge.may_hold_secret(p_text) then
    return p_text;
  end if;
  v_text := regexp_replace(v_text,
    '-----BEGIN [A-Z ]*PRIVATE KEY-----([^-]|-(?!----END))*(-----END [A-Z ]*PRIVATE KEY-----)?', '[redacted]', 'g');
  v_text := regexp_replace(v_text, '(://[^\s/:@"'']*):[^\s/"'']+@', '\1:[redacted]@', 'g');
  v_text := regexp_replace(v_text, '(://)[^\s/:@"'']{16,}@', '\1[redacted]@', 'g');
  v_text := regexp_replace(v_text,
    '(authorization\\?["'']?\s*[=:]\s*\\?["'']?)((basic|bearer|digest|token|apikey)\s+)?'
    '(\[redacted\]|[^\s"''\\,;&)}\]]+)', '\1[redacted]', 'gi');
  v_text := regexp_replace(v_text, '(bearer\s+)(?=[^\s]*[0-9._-])[a-z0-9._~+/=-]{6,}', '\1[redacted]', 'gi');
  v_text := regexp_replace(v_text,
    'eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]*)?|(sk|pk|rk)[-_][A-Za-z0-9_-]{16,}'
    '|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{20,}'
    '|xox[abeprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{30,}', '[redacted]', 'g');
  v_text := regexp_replace(v_text,
    '((passw(or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|cookie)'
    '[a-z0-9_-]*)' || v_value,
    '\1\4[redacted]', 'gi');
  if v_listed is not null then
    v_text := regexp_replace(v_text, '((?<![[:alnum:]_])(' || v_listed || '))' || v_value, '\1\3[redacted]', 'gi');
  end if;
  return v_text;
end $$;

-- Returns a text cut to at most p_length characters, so that it can be masked afterwards. A cut may split a secret, and
-- the rules do not recognize a part of it. So the last word is left out: what follows the last blank or quote in the
-- last 200 characters, or all of these. The rest of an unfinished address goes too, because its password may be longer.
-- cutText in packages/sdk-ts/src/jobs/failure.ts does the same; a test gives both the same cases.
create or replace function jobforge.cut_text(p_text text, p_length integer) returns text
language sql immutable parallel safe as $$
  select case when length(p_text) <= p_length then p_text
    else regexp_replace(
      left(p_text, greatest(p_length - 200, 0))
        || regexp_replace(right(left(p_text, p_length), least(p_length, 200)), '[^\s"'']*$', ''),
      '://[^\s/"'']*$', '://') end
$$;

-- Returns whether a JSON document is small enough to be masked value by value: at most 16 kB and 200 values. Each value
-- costs several regular expressions, and a settle masks as many errors as it has runs. What is nested more than 16
-- levels deep is one text, so it is not counted. It is immutable like jobforge.redact: otherwise Postgres would mask a
-- constant document while it plans, whatever its size.
create or replace function jobforge.is_small(p_document jsonb) returns boolean
language plpgsql immutable as $$
declare
  v_bytes integer := jobforge.text_bytes(p_document);
begin
  -- A value has at least two bytes with its separator, so a short document has few.
  return v_bytes between 0 and 400
    or (v_bytes between 0 and 16384
      and (select count(*) from jsonb_path_query(p_document, 'strict $.**{0 to 16}')) <= 200);
end $$;

-- Returns whether redact would return an object as it is, without looking at every value: it is short, its values are
-- not nested, and nothing in it may hold a secret. That is the usual error.
create or replace function jobforge.is_harmless(p_document jsonb) returns boolean
language plpgsql immutable as $$
begin
  return jobforge.text_bytes(p_document) between 0 and 4000
    and not jsonb_path_exists(p_document, 'strict $.* ? (@.type() == "object" || @.type() == "array")')
    and not jobforge.may_hold_secret(p_document::text);
end $$;

-- Returns a JSON document with its secrets masked. Values of keys that the type's policy lists are masked whatever they
-- are; values of keys that name a secret, when they are texts. All other texts are searched for secrets. Stacks are cut
-- to 4,000 characters, and what is nested more than 16 levels deep becomes text. Never raises, because a settle must
-- not.
create or replace function jobforge.redact(p_document jsonb, p_listed text[], p_depth integer default 0) returns jsonb
language plpgsql immutable as $$
begin
  case jsonb_typeof(p_document)
    when 'string' then
      return to_jsonb(jobforge.redact_text(p_document #>> '{}', p_listed));
    when 'array', 'object' then
      if p_depth >= 16 then
        return to_jsonb(jobforge.redact_text(p_document::text, p_listed));
      elsif jsonb_typeof(p_document) = 'array' then
        return (
          select coalesce(jsonb_agg(jobforge.redact(e.item, p_listed, p_depth + 1) order by e.ord), '[]')
          from jsonb_array_elements(p_document) with ordinality e(item, ord));
      end if;
      return (
        select coalesce(jsonb_object_agg(e.key, case
            when lower(e.key) = any (array(select lower(l) from unnest(p_listed) l)) then '"[redacted]"'
            when jsonb_typeof(e.value) = 'string' and jobforge.names_secret(e.key) then '"[redacted]"'
            when jsonb_typeof(e.value) = 'string' and e.key = 'stack'
              then to_jsonb(left(jobforge.redact_text(jobforge.cut_text(e.value #>> '{}', 8000), p_listed), 4000))
            else jobforge.redact(e.value, p_listed, p_depth + 1)
          end), '{}')
        from jsonb_each(p_document) e);
    else
      return p_document;
  end case;
end $$;
