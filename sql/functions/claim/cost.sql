-- What a search costs. It is counted in pages, because time would also measure what else the server does. The functions
-- are volatile, as the statistics that they read: Postgres would not inline them otherwise.

-- Returns how many pages this transaction has read to find queued jobs and due schedules. For jobs these are the pages
-- of the indexes. For schedules they include those of the table, because many schedules are due at the same time, and
-- one page of their index holds a thousand entries.
create or replace function jobforge.index_pages_read() returns bigint
language sql volatile as $$
  select pg_stat_get_xact_blocks_fetched('jobforge.queue_ready'::regclass)
    + pg_stat_get_xact_blocks_fetched('jobforge.queue_waiting'::regclass)
    + pg_stat_get_xact_blocks_fetched('jobforge.schedules_due'::regclass)
    + pg_stat_get_xact_blocks_fetched('jobforge.schedules'::regclass)
$$;

-- Returns index_pages_read() plus the pages of the queue itself, because each dead index entry costs a read of its row.
create or replace function jobforge.all_pages_read() returns bigint
language sql volatile as $$
  select jobforge.index_pages_read() + pg_stat_get_xact_blocks_fetched('jobforge.queue'::regclass)
$$;

-- Returns whether a query about some types read so many pages that it must have met dead index entries, which a long
-- transaction keeps from being removed.
create or replace function jobforge.is_costly(p_pages bigint, p_types integer) returns boolean
language sql immutable as $$
  select p_pages > 20 + 10 * p_types
$$;
