"""The worker's defaults, limits and fixed times, each named once. Times are seconds."""

from __future__ import annotations

from typing import Final

# Presence: heartbeats and polls.

# The database's worker timeout: a worker that is silent for this long loses all its leases.
WORKER_TIMEOUT: Final = 60.0
# The time between two heartbeats.
HEARTBEAT: Final = 10.0
# The longest time between heartbeats that an option may set: half the worker timeout.
MAX_HEARTBEAT: Final = WORKER_TIMEOUT / 2
# The longest sleep of an idle worker before it looks for jobs again, unless it is notified.
POLL: Final = 2.0
# The longest sleep of an idle worker that is notified. Its heartbeats look for jobs as well.
LONGEST_POLL: Final = 120.0
# The first sleep of a worker that is not notified; each further sleep is twice as long, up to `poll`.
FIRST_POLL: Final = 0.1
# The first wait for a job that should be due but was not claimed; each further wait is twice as long.
FIRST_DUE_RETRY: Final = 0.005
# After this long without an idle moment, a worker withdraws its request to be notified.
BUSY_AFTER: Final = 1.0
# The first delay before a failed call is repeated; each further delay is twice as long.
FIRST_RETRY_DELAY: Final = 0.1
# The longest delay before a failed call is repeated.
MAX_RETRY_DELAY: Final = 5.0
# The time after which the watchdog reports that the event loop does not respond.
BLOCKED_AFTER: Final = 1.0
# The time after which a worker whose event loop does not respond stops its heartbeats, so that others get its jobs.
WEDGED_AFTER: Final = 300.0

# Claiming: calls to the database.

# The largest number of jobs that one call may claim, fixed by the database.
MAX_BATCH_SIZE: Final = 1_000
# The number of jobs that one call claims, and of ends that it settles, at most.
BATCH_SIZE: Final = 500
# The number of jobs that may be claimed before there is a slot for them.
PREFETCH: Final = 1_000
# The number of settle-and-claim calls in flight at the same time: the database works while handlers run.
PARALLEL_CALLS: Final = 2
# The time that an end waits for other ends to share a call, while no other reason for a call exists.
SETTLE_DELAY: Final = 0.004
# The timeout of a call that settles and claims.
SETTLE_TIMEOUT: Final = 30.0
# The timeout of every other call: heartbeat, progress, policy.
CALL_TIMEOUT: Final = 10.0

# The time after which a worker that could not sync the policies of its types tries again.
SYNC_RETRY: Final = 60.0

# Running: handlers.

# The number of handler calls at the same time.
CONCURRENCY: Final = 10
# The timeout of a run whose definition and policy have none: an hour. It is longer than almost all jobs, and it ends
# a handler that would otherwise hold its slot for ever. `timeout=None` in a definition switches it off.
TIMEOUT: Final = 3_600.0
# The time that a handler may continue after it was aborted, before its slot goes to another job.
ABORT_GRACE: Final = 5.0
# How many times its timeout a run of a schedule may last, before its schedule no longer waits for its handler.
OVERRUN_FACTOR: Final = 6
# The time that a claimed job may wait for a slot before it is handed back.
MAX_SLOT_WAIT: Final = 0.5
# The time between two checks for claimed jobs that wait too long.
SLOT_WAIT_CHECK: Final = 0.1
# The age at which a type's policy is read again.
POLICY_MAX_AGE: Final = 60.0
# Connections that transactions of handlers leave free: one for heartbeats and progress, one for settling.
RESERVED_CONNECTIONS: Final = 2

# Shutdown.

# The time that a shutdown waits for running handlers.
GRACE: Final = 30.0
# The longest wait that `grace` and `abort_grace` may set: a day.
MAX_GRACE: Final = 86_400.0
# The time that handlers get after a second signal.
HURRIED_GRACE: Final = 1.0
# The time for the last settle of a shutdown.
LAST_SETTLE: Final = 5.0
# The time after a shutdown by signal in which the process may exit by itself; then it is ended.
EXIT_DELAY: Final = 5.0
# The time in which a process that dies settles and releases its runs.
CRASH: Final = 3.0

# Ticks.

# How often a tick looks again, in a row, for jobs that are due but were not claimed: for a third of a second.
TICK_LOOKS: Final = 6
# The number of jobs that `tick()` runs.
TICK_LIMIT: Final = 100
# The number of jobs that a tick over HTTP runs.
REMOTE_TICK_LIMIT: Final = 20
# The time that a tick keeps trying to settle its runs while the database fails.
TICK_PATIENCE: Final = 15.0

# How often a worker with an artifact store looks for artifacts of forgotten jobs, on average.
SWEEP: Final = 60.0
