-- Numbers and lists of words that several functions need. Each function is one expression, which Postgres puts in place
-- of the call when it makes a plan. So the names cost nothing; sql/test/shared/inlining.test.ts checks that.

-- Workers -------------------------------------------------------------------------------------------------------------

-- Returns how often a worker heartbeats.
create or replace function jobforge.heartbeat_interval() returns interval
language sql immutable parallel safe as $$
  select interval '10 seconds'
$$;

-- Returns the silence after which a worker that has heartbeaten counts as gone, and the lease of every job it holds is
-- lost.
create or replace function jobforge.worker_timeout() returns interval
language sql immutable parallel safe as $$
  select interval '1 minute'
$$;

-- Returns whether a worker has heartbeaten within the worker timeout.
create or replace function jobforge.is_alive(p_seen_at timestamptz, p_now timestamptz) returns boolean
language sql stable parallel safe as $$
  select p_seen_at >= p_now - jobforge.worker_timeout()
$$;

-- Returns how many workers of one tenant may be registered, for roles that are bound to it.
create or replace function jobforge.max_bound_workers() returns integer
language sql immutable parallel safe as $$
  select 1000
$$;

-- Returns how many workers with running jobs one pass over lost leases visits.
create or replace function jobforge.workers_per_pass() returns integer
language sql immutable parallel safe as $$
  select 1000
$$;

-- Returns the lease of a run whose worker never heartbeats as a worker. It starts again with each heartbeat of the run.
create or replace function jobforge.unregistered_lease() returns interval
language sql immutable parallel safe as $$
  select interval '5 minutes'
$$;

-- Returns how long after the timeout of its type a run counts as lost although its worker is alive: the handler hangs.
create or replace function jobforge.timeout_grace() returns interval
language sql immutable parallel safe as $$
  select interval '1 minute'
$$;

-- Returns the scope of what concerns every tenant: of workers whose role is bound to no tenant, and of audit rows about
-- keys, policies, limits and gates of the installation. No role can be bound to it or name it, so only operators, who
-- see all tenants, see such rows.
create or replace function jobforge.all_tenants() returns uuid
language sql immutable parallel safe as $$
  select 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid
$$;

-- Jobs ----------------------------------------------------------------------------------------------------------------

-- Returns the statuses of a job that has not finished.
create or replace function jobforge.live_statuses() returns text[]
language sql immutable parallel safe as $$
  select array['queued', 'running']
$$;

-- Returns the statuses of a job that has finished. It is in the archive, or forgotten if its type keeps no history.
create or replace function jobforge.finished_statuses() returns text[]
language sql immutable parallel safe as $$
  select array['succeeded', 'failed', 'dead', 'canceled']
$$;

-- Returns the dedupe modes: what an enqueue does when a live job has the same dedupe key. The first is the default.
create or replace function jobforge.dedupe_modes() returns text[]
language sql immutable parallel safe as $$
  select array['skip', 'replace', 'debounce']
$$;

-- Joins words for a message: "skip, replace or debounce".
create or replace function jobforge.one_of(p_words text[]) returns text
language sql stable parallel safe as $$
  select array_to_string(p_words[:cardinality(p_words) - 1], ', ') || ' or ' || p_words[cardinality(p_words)]
$$;

-- Returns the state of a job in the queue: it may be claimed, or run_at lies in the future. Null means now.
create or replace function jobforge.queued_state(p_run_at timestamptz, p_now timestamptz) returns text
language sql immutable parallel safe as $$
  select case when p_run_at > p_now then 'waiting' else 'ready' end
$$;

-- Returns how long an idempotency key outlives a finished job whose type keeps no history.
create or replace function jobforge.key_retention() returns interval
language sql immutable parallel safe as $$
  select interval '24 hours'
$$;

-- Schedules -----------------------------------------------------------------------------------------------------------

-- Returns the age at which a due time counts as missed.
create or replace function jobforge.missed_after() returns interval
language sql immutable parallel safe as $$
  select interval '1 minute'
$$;

-- Returns how long a schedule waits before it tries again to make a run for which the tenant's quota had no room.
create or replace function jobforge.quota_delay() returns interval
language sql immutable parallel safe as $$
  select interval '1 minute'
$$;

-- Returns how many schedules a tenant's own callers may create when the tenant has no max_schedules.
create or replace function jobforge.default_max_schedules() returns integer
language sql immutable parallel safe as $$
  select 10000
$$;

-- Locks ---------------------------------------------------------------------------------------------------------------

-- Returns the lock timeout of a call that does the rest later rather than wait for an application's transaction.
create or replace function jobforge.brief_lock_timeout() returns text
language sql immutable parallel safe as $$
  select '10ms'
$$;
