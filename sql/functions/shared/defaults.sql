-- Numbers and lists of words that several functions need. Each function is one expression, which Postgres puts in place
-- of the call when it makes a plan. So the names cost nothing; sql/test/shared/inlining.test.ts checks that.

-- Workers -------------------------------------------------------------------------------------------------------------

-- Returns how often a worker heartbeats.
create or replace function jobforge.heartbeat_interval() returns interval
language sql immutable parallel safe as $$
  select interval '10 seconds'
$$;

-- Returns how long after its last heartbeat a worker still gets jobs from enqueues.
create or replace function jobforge.offer_lifetime() returns interval
language sql immutable parallel safe as $$
  select interval '15 seconds'
$$;

-- Returns the silence after which a worker that has heartbeaten counts as gone, and the lease of every job it holds is
-- lost.
create or replace function jobforge.worker_timeout() returns interval
language sql immutable parallel safe as $$
  select interval '1 minute'
$$;

-- Returns whether a worker has heartbeaten within the worker timeout, and has not said that it stops.
create or replace function jobforge.is_alive(p_worker jobforge.workers, p_now timestamptz) returns boolean
language sql stable parallel safe as $$
  select (p_worker).stopped_at is null and (p_worker).seen_at >= p_now - jobforge.worker_timeout()
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

-- Returns how many times the timeout of its type a run of a schedule may last before the grace begins. Its worker keeps
-- the lease while a handler ignores the timeout, so that no other run of the schedule starts next to it.
create or replace function jobforge.overrun_factor() returns integer
language sql immutable parallel safe as $$
  select 6
$$;

-- Returns the scope of what concerns every tenant: of workers whose role is bound to no tenant, and of audit rows about
-- keys, policies, limits and gates of the installation. No role can be bound to it or name it, so only operators, who
-- see all tenants, see such rows.
create or replace function jobforge.all_tenants() returns uuid
language sql immutable parallel safe as $$
  select 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid
$$;

-- Jobs ----------------------------------------------------------------------------------------------------------------

-- Returns the global tenant: it owns work that belongs to no tenant. It is also the first of all tenants.
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

-- Returns the longest delay that an enqueue may give its job: ten years.
create or replace function jobforge.max_delay_ms() returns bigint
language sql immutable parallel safe as $$
  select 315360000000
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

-- Priorities and types ------------------------------------------------------------------------------------------------

-- Returns the lowest priority. A caller's lower one counts as this. Claims go from priority to priority, so the number
-- of different ones is bounded.
create or replace function jobforge.lowest_priority() returns integer
language sql immutable parallel safe as $$
  select -100
$$;

-- Returns the rank of a priority under a policy's max_priority (null: no cap).
create or replace function jobforge.rank_of(p_priority integer, p_max_priority integer) returns integer
language sql immutable parallel safe as $$
  select -least(greatest(p_priority, jobforge.lowest_priority()), p_max_priority)
$$;

-- Returns how many different types a tenant may use that has no max_types of its own.
create or replace function jobforge.default_max_types() returns integer
language sql immutable parallel safe as $$
  select 1000
$$;

-- Returns the age at which an enqueue registers its type again.
create or replace function jobforge.registration_renewal() returns interval
language sql immutable parallel safe as $$
  select interval '1 day'
$$;

-- Returns the age at which maintenance checks a registered type, and forgets it if it is not in use. A transaction that
-- relies on a registration has been open for a day when that registration is forgotten.
create or replace function jobforge.registration_lifetime() returns interval
language sql immutable parallel safe as $$
  select interval '2 days'
$$;

-- Returns up to how many types a claim for any type looks at all of them. See jobforge.types_to_claim.
create or replace function jobforge.most_types_of_a_claim() returns integer
language sql immutable parallel safe as $$
  select 200
$$;

-- Returns how many types a list of figures by type has. The others are summed up under the type '*'.
create or replace function jobforge.most_types_shown() returns integer
language sql immutable parallel safe as $$
  select 1000
$$;

-- Returns how many versions of an application are remembered for each type that it declares.
create or replace function jobforge.declarations_kept() returns integer
language sql immutable parallel safe as $$
  select 100
$$;

-- Sizes, in bytes of text ---------------------------------------------------------------------------------------------

-- Returns the largest payload and the largest result: 1 MiB.
create or replace function jobforge.document_bytes() returns integer
language sql immutable parallel safe as $$
  select 1048576
$$;

-- Returns how many lines of the log of a run are kept at most, and how many bytes: 64 kB. Workers have the same numbers
-- (packages/worker-ts/src/reporting/kept-log.ts, python/src/jobforge/worker/reporting/kept_log.py).
create or replace function jobforge.log_lines() returns integer
language sql immutable parallel safe as $$
  select 200
$$;

create or replace function jobforge.log_bytes() returns integer
language sql immutable parallel safe as $$
  select 65536
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
