-- Returns a page of summaries of jobs: {items, cursor, searched_after}. A summary has no payload, progress and result,
-- and of the error only a line, so a page is small whatever the jobs hold; payload_bytes is the length of the payload
-- as text. Filters are those of jobforge_list_jobs, except offset, and order:
--   created      newest first; the default
--   oldest       queued jobs, oldest first
--   run_at       queued jobs that are due later, the next one first
--   started_at   running jobs, the one that has run longest first
--   finished_at  finished jobs, the last one first
-- Pass cursor to get the next page. after, in the orders created and finished_at, is a place like a cursor: only jobs
-- before it in the list, so those that are new. Some filters have no index, and finished_at has a coarse one: then a
-- call looks at about 10,000 jobs at most. If it stopped there, searched_after is the time up to which it has looked
-- (for run_at and started_at always null), the page may have fewer items than its limit, and the cursor goes on from
-- there.
-- Who: the tenant itself; operators, with null for all tenants. Locks nothing.
create or replace function :"api_schema".jobforge_browse_jobs(p_tenant_id uuid default null,
  p_filters jsonb default '{}')
returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off as $$
declare
  v_filters jsonb := coalesce(p_filters, '{}');
  v_order text := coalesce(v_filters ->> 'order', 'created');
  v_filter job_filter;
  v_page job_page;
begin
  perform require_tenant_or_operator(p_tenant_id);
  v_filter := read_filters(v_filters - 'cursor' - 'after', array['order'] || search_filters());
  if v_filters ? 'offset' then
    perform fail_argument('offset', 'offset is for lists', 'Use cursor.');
  elsif v_filters ->> 'after' is not null and v_order not in ('created', 'finished_at') then
    perform fail_argument('after', 'after is for the orders created and finished_at');
  end if;
  v_page := case v_order
    when 'created' then page_by_id(p_tenant_id, newer_than(v_filter, filter_text(v_filters, 'after', 'id')::uuid),
      filter_text(v_filters, 'cursor', 'id')::uuid)
    when 'oldest' then page_of_oldest(p_tenant_id, v_filter, filter_text(v_filters, 'cursor', 'id')::uuid)
    when 'run_at' then page_by_due_time(p_tenant_id, v_filter, read_cursor(v_filters, 'cursor'))
    when 'started_at' then page_by_start(p_tenant_id, v_filter, read_cursor(v_filters, 'cursor'))
    when 'finished_at' then page_by_end(p_tenant_id, v_filter, read_cursor(v_filters, 'cursor'),
      read_cursor(v_filters, 'after'))
    else null
  end;
  if v_page.ids is null then
    perform fail_argument('order', 'order must be created, oldest, run_at, started_at or finished_at');
  end if;
  return jsonb_build_object(
    'items', (
      select coalesce(jsonb_agg(summary_at(p.id, p.finished_at, v_filter.at) order by p.place), '[]')
      from unnest(v_page.ids, v_page.ends) with ordinality p(id, finished_at, place)),
    'cursor', v_page.next,
    'searched_after', v_page.searched_after);
end $$;

-- Reads a cursor of an order by time: TIME~ID. Both are null without a cursor. JF002 when it is malformed.
create or replace function jobforge.read_cursor(p_filters jsonb, p_key text) returns jobforge.time_cursor
language plpgsql stable as $$
declare
  v_text text := p_filters ->> p_key;
begin
  return row(split_part(v_text, '~', 1)::timestamptz, split_part(v_text, '~', 2)::uuid)::jobforge.time_cursor;
exception when data_exception then
  perform jobforge.fail_argument(p_key, format('%s must be TIME~ID, as the cursor of a page with this order', p_key));
end $$;

create or replace function jobforge.write_cursor(p_at timestamptz, p_id uuid) returns text
language sql stable as $$
  select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '~' || p_id
$$;

-- Returns a filter for the jobs of it that were created after a job; the same filter if p_after is null.
create or replace function jobforge.newer_than(p_filter jobforge.job_filter, p_after uuid) returns jobforge.job_filter
language plpgsql immutable as $$
begin
  p_filter.after_id := p_after;
  return p_filter;
end $$;
