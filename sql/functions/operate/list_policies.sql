-- Returns the default policy, whose type is '*', and the policies that types have of their own, as an array in the
-- order of their types. Filters: limit (50, at most 1000), cursor (the type of the last policy of the previous page).
-- JF002 for an unknown or malformed filter.
-- Who: operators. Locks nothing.
create or replace function :"api_schema".jobforge_list_policies(p_filters jsonb default '{}') returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_filters jsonb := coalesce(p_filters, '{}');
begin
  perform require_operator();
  perform require_filters(v_filters, array['limit', 'cursor']);
  return (
    select coalesce(jsonb_agg(to_jsonb(p) order by p.type), '[]')
    from (
      select p.*
      from policies p
      where v_filters ->> 'cursor' is null or p.type > v_filters ->> 'cursor'
      order by p.type
      limit filter_limit(v_filters)
    ) p);
end $$;
