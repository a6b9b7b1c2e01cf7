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

-- Returns the scope of a worker whose role is bound to no tenant: it keeps the leases of every tenant's jobs.
create or replace function jobforge.all_tenants() returns uuid
language sql immutable parallel safe as $$
  select 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid
$$;

-- Jobs ----------------------------------------------------------------------------------------------------------------

-- Returns the global tenant: it owns work that belongs to no tenant, and audit rows that concern every tenant.
create or replace function jobforge.global_tenant() returns uuid
language sql immutable parallel safe as $$
  select '00000000-0000-0000-0000-000000000000'::uuid
$$;

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

-- Sizes, in bytes of text ---------------------------------------------------------------------------------------------

-- Returns the largest payload and the largest result: 1 MiB.
create or replace function jobforge.document_bytes() returns integer
language sql immutable parallel safe as $$
  select 1048576
$$;

-- Returns the largest payload that is stored in the row of its job.
create or replace function jobforge.inline_bytes() returns integer
language sql immutable parallel safe as $$
  select 4000
$$;

-- Returns how much one claim returns: 16 MiB of payloads and progress. A single job is always smaller.
create or replace function jobforge.claim_bytes() returns integer
language sql immutable parallel safe as $$
  select 16777216
$$;

-- Returns how much one page of jobs has: 8 MiB. A single job is always smaller.
create or replace function jobforge.page_bytes() returns integer
language sql immutable parallel safe as $$
  select 8388608
$$;

-- Schedules -----------------------------------------------------------------------------------------------------------

-- Returns the age at which a due time counts as missed.
create or replace function jobforge.missed_after() returns interval
language sql immutable parallel safe as $$
  select interval '1 minute'
$$;

-- Locks ---------------------------------------------------------------------------------------------------------------

-- Returns the lock timeout of a call that does the rest later rather than wait for an application's transaction.
create or replace function jobforge.brief_lock_timeout() returns text
language sql immutable parallel safe as $$
  select '10ms'
$$;
