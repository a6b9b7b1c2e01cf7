-- Pins the settings of every function that a role other than the owner may execute, so that nothing a caller has set
-- for its session, and nothing its role has set, changes what the function does. A setting is pinned if it changes
-- a value, a stored row or the meaning of a name, and any role may change it:
--   search_path                   where names are found; without it a caller's function would run as the owner
--   TimeZone, DateStyle           how times without a zone are read, and how times are written
--   IntervalStyle                 how intervals are read and written
--   extra_float_digits            how floating-point numbers are written
--   standard_conforming_strings   how backslashes in the function's own text are read, such as those of redaction
--   quote_all_identifiers         how names are written
--   gin_fuzzy_search_limit        makes a search by tags return some of the jobs only
-- Every clause costs about 0.3 microseconds per call, so settings that cannot matter here are not pinned: the kernel
-- uses no XML, no money, no names of months, and writes no bytea as text. timezone_abbreviations would read a file in
-- every call; it only matters for abbreviations that the caller itself writes. Time limits are the caller's own.
-- A function with an SQL-standard body has its names bound already and stays inlinable, so it gets no clause.
-- Functions that only the owner may execute run inside of these.
-- Those that write also get the settings without which plans age (docs/decisions/claiming.md). They share the functions
-- inside, and a session keeps the plan of the first call: one call without these settings, while the tables were small,
-- made all later ones read whole tables.
do $$
declare
  v_function text;
  v_writes boolean;
begin
  for v_function, v_writes in
    select g.name, p.provolatile = 'v'
    from jobforge.grants(:'api_schema') g
    join pg_proc p on p.oid = g.name::regprocedure
    where g.kind = 'function' and g.wanted <> '{}' and p.prosqlbody is null
  loop
    execute format(
      $alter$alter function %s
        set search_path = jobforge, pg_temp
        set timezone = 'UTC'
        set datestyle = 'ISO, MDY'
        set intervalstyle = 'postgres'
        set extra_float_digits = 1
        set standard_conforming_strings = on
        set quote_all_identifiers = off
        set gin_fuzzy_search_limit = 0$alter$, v_function);
    if v_writes then
      execute format(
        'alter function %s set jit = off set enable_seqscan = off set enable_bitmapscan = off', v_function);
    end if;
  end loop;
end $$;
