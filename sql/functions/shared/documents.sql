-- How large a caller's JSON document is, found without printing one that would cost too much to print. A number such
-- as 1e131071 takes 16 bytes in jsonb and 131 kB as text. So 7,000 of them, which a caller sends in 63 kB, would be
-- 900 MB.

-- Returns how large a document in jsonb may be before it counts as over the cap without being printed: 5 MiB. The text
-- of such a document has over 1 MiB: "1, " takes three bytes as text and twelve in jsonb, and nothing takes more.
create or replace function jobforge.most_binary_bytes() returns integer
language sql immutable parallel safe as $$
  select 5 * jobforge.document_bytes()
$$;

-- Returns whether a document has a number of 1e400 or more, or one that is nearer to 0 than 1e-400, of either sign. A
-- double holds none of them. All other numbers have at most 25 times as many bytes as text as in jsonb. The first
-- condition is for speed: two comparisons are all that most items cost, and only numbers fulfil one.
create or replace function jobforge.has_wide_number(p_document jsonb) returns boolean
language sql immutable parallel safe as $$
  select jsonb_path_exists(p_document,
    'strict $.** ? (@ < 1e-400 || @ >= 1e400) ? (@ >= 1e400 || @ <= -1e400 || (@ > -1e-400 && @ != 0))')
$$;

-- Returns null if a document may be printed. Otherwise -1: it has a wide number; -2: it has more than 4,000 levels; or
-- 2147483647: it is too large. A document of up to 4,000 bytes in jsonb is not read: as text it has at most 33 MB. So
-- everyday documents cost nothing here. Postgres parses about 16,000 levels with its usual stack, and fewer inside of
-- functions, so a payload with more than 4,000 levels would be a job that no claim can return as jsonb. #> '{}' is the
-- document itself, uncompressed if it comes from a table. One expression, so that Postgres inlines it; stable, as
-- pg_column_size is.
create or replace function jobforge.unprintable(p_document jsonb) returns integer
language sql stable as $$
  select case
    when pg_column_size(p_document #> '{}') <= jobforge.inline_bytes() then null
    when pg_column_size(p_document #> '{}') > jobforge.most_binary_bytes() then 2147483647
    when jsonb_path_exists(p_document, 'strict $.**{4000}') then -2
    when jobforge.has_wide_number(p_document) then -1
  end
$$;

-- Returns the length of a document as text, in bytes, or why it may not be printed: see jobforge.unprintable.
create or replace function jobforge.text_bytes(p_document jsonb) returns integer
language sql stable as $$
  select coalesce(jobforge.unprintable(p_document), octet_length(p_document::text))
$$;

-- Returns what is wrong with a document of which text_bytes returned p_bytes, as the end of a sentence; null if it may
-- be printed.
create or replace function jobforge.document_problem(p_bytes integer) returns text
language sql immutable parallel safe as $$
  select case p_bytes
    when -1 then 'is over 4 kB and has a number that no double holds (1e400 or more, or nearer to 0 than 1e-400): '
      || 'send such numbers as texts'
    when -2 then 'is nested more than 4000 levels deep'
    when 2147483647 then 'is larger than 5 MiB'
  end
$$;

-- Raises if a document may not be printed: JF008 if it is too large, otherwise JF002. Functions call it before they
-- read texts from a document, because a value of another kind is printed then.
create or replace function jobforge.require_printable(p_document jsonb, p_field text) returns void
language plpgsql stable as $$
declare
  v_problem text := jobforge.document_problem(jobforge.unprintable(p_document));
begin
  if v_problem = 'is larger than 5 MiB' then
    perform jobforge.fail('JF008', format('Payload too large: %s %s', p_field, v_problem), 'payload_too_large', p_field,
      'Store it elsewhere and pass a reference.');
  elsif v_problem is not null then
    perform jobforge.fail_argument(p_field, p_field || ' ' || v_problem);
  end if;
end $$;
