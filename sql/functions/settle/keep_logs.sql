-- Stores what the handlers of runs have logged, in the transaction that ends the runs. Only ends that passed the fence
-- count, and only as the policy of the type says: keep_logs is off, failed (runs that failed) or all. Locks nothing.
create or replace function jobforge.keep_logs(
  p_ends jobforge.run_end[], p_outcomes jobforge.run_outcome[], p_now timestamptz
) returns void
language plpgsql
set enable_nestloop = on as $$
begin
  insert into jobforge.job_logs (job_id, attempt_no, tenant_id, lines, dropped)
  select o.id, o.attempt, o.tenant_id, k.lines, k.dropped
  from unnest(p_outcomes) o
  join unnest(p_ends) e on e.ord = o.ord
  cross join lateral jobforge.policy_of(o.type) p
  cross join lateral jobforge.kept_lines(e.logs, p.redact, p_now) k
  where o.outcome = 'ok'
    and e.logs is not null
    and (p.keep_logs = 'all' or (p.keep_logs = 'failed' and e.status = 'failed'))
    and k.lines is not null
  on conflict do nothing;
end $$;

-- Returns the lines of a log that are kept: the last 200, and of these the last 64 kB; and how many are not. Null for
-- what is not a log: an array of lines, or {lines, dropped} from a client that has dropped some itself. Never raises,
-- because a settle must not.
create or replace function jobforge.kept_lines(
  p_logs jsonb, p_redact text[], p_now timestamptz, out lines jsonb, out dropped integer
)
language plpgsql stable as $$
declare
  v_lines jsonb := case jsonb_typeof(p_logs) when 'object' then p_logs -> 'lines' else p_logs end;
  v_dropped jsonb := case jsonb_typeof(p_logs) when 'object' then p_logs -> 'dropped' end;
  v_count integer;
begin
  if jsonb_typeof(v_lines) is distinct from 'array' or v_lines = '[]' then
    return;
  end if;
  v_count := jsonb_array_length(v_lines);
  select jsonb_agg(l.line order by l.ord), v_count - count(*)
  into lines, dropped
  from (
    select k.ord, k.line, sum(octet_length(k.line::text) + 2) over (order by k.ord desc) as bytes
    from (
      select e.ord, jobforge.kept_line(e.item, p_redact, p_now) as line
      from jsonb_array_elements(v_lines) with ordinality e(item, ord)
      where e.ord > v_count - jobforge.log_lines()
      offset 0
    ) k
  ) l
  where l.bytes <= jobforge.log_bytes();
  if jsonb_typeof(v_dropped) = 'number' and v_dropped between '1' and '1000000000' then
    dropped := dropped + trunc(v_dropped::numeric)::integer;
  end if;
exception when program_limit_exceeded or statement_too_complex then
  lines := null;
end $$;

-- Returns a line of a log in the form in which it is kept, without secrets: {at, level, message}, fields if there are
-- any, and truncated if something is left out because it is too long.
create or replace function jobforge.kept_line(p_line jsonb, p_redact text[], p_now timestamptz) returns jsonb
language sql stable as $$
  select jsonb_build_object(
      'at', case
        when jobforge.text_under(p_line, 'at') ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)$'
          and jobforge.time_or_null(p_line ->> 'at') is not null
          then p_line ->> 'at'
        else to_char(p_now at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
      end,
      'level', case when jobforge.text_under(p_line, 'level') in ('debug', 'info', 'warn', 'error')
        then p_line ->> 'level' else 'info' end,
      'message', left(jobforge.redact_text(jobforge.cut_text(m.message, 8000), p_redact), 8000))
    || case when m.has_fields and m.is_small
        then jsonb_build_object('fields', jobforge.redact(p_line -> 'fields', p_redact)) else '{}' end
    || case when length(m.message) > 8000 or (m.has_fields and not m.is_small) or p_line -> 'truncated' = 'true'
        then '{"truncated": true}'::jsonb else '{}' end
  from (
    select
      coalesce(case jsonb_typeof(p_line)
        when 'string' then p_line #>> '{}'
        when 'object' then jobforge.text_under(p_line, 'message')
      end, '') as message,
      jsonb_typeof(p_line -> 'fields') = 'object' and p_line -> 'fields' <> '{}' as has_fields,
      jsonb_typeof(p_line -> 'fields') = 'object' and jobforge.is_small(p_line -> 'fields') as is_small
    offset 0
  ) m
$$;
