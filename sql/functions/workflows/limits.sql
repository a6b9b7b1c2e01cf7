-- Return how many steps one call may have, and how many a workflow, needs a call, needs a step, and levels a graph.
create or replace function jobforge.most_steps_of_a_call() returns integer
language sql immutable parallel safe as $$
  select 50000
$$;

create or replace function jobforge.most_steps_of_a_workflow() returns integer
language sql immutable parallel safe as $$
  select 100000
$$;

create or replace function jobforge.most_needs_of_a_call() returns integer
language sql immutable parallel safe as $$
  select 200000
$$;

create or replace function jobforge.most_needs_of_a_step() returns integer
language sql immutable parallel safe as $$
  select 10000
$$;

create or replace function jobforge.most_levels_of_a_workflow() returns integer
language sql immutable parallel safe as $$
  select 8
$$;

-- Returns after how many bytes of results a page ends.
create or replace function jobforge.page_bytes() returns integer
language sql immutable parallel safe as $$
  select 8 * 1024 * 1024
$$;
