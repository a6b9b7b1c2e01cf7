-- Usage per tenant, type and hour, as far as maintenance has merged it. While workers run, it is at most about ten
-- seconds behind. Columns are only appended.
create or replace view :"api_schema".jobforge_usage as
select
  u.tenant_id, u.type::text, u.hour, u.runs, u.succeeded, u.failed, u.lost, u.deferred, u.retries, u.dead, u.cost_cents,
  u.wait_ms, u.run_ms,
  jobforge.percentile(u.wait_histogram, 0.5) as wait_p50_ms,
  jobforge.percentile(u.wait_histogram, 0.95) as wait_p95_ms,
  jobforge.percentile(u.wait_histogram, 0.99) as wait_p99_ms,
  jobforge.percentile(u.run_histogram, 0.5) as run_p50_ms,
  jobforge.percentile(u.run_histogram, 0.95) as run_p95_ms,
  jobforge.percentile(u.run_histogram, 0.99) as run_p99_ms,
  u.wait_histogram, u.run_histogram
from jobforge.usage u;

alter view :"api_schema".jobforge_usage owner to jobforge_view;
