-- Makes a job to enqueue, with the defaults of jobforge_enqueue_job for what is left out or null. p_ord is its place in
-- the call. One expression that uses each parameter once, except the type and the payload, so that Postgres inlines it:
-- naming the fields costs nothing. The length of the payload is found here, and nowhere else on the way of the job. It
-- is negative if the payload may not be printed: see jobforge.text_bytes. A delivery to an endpoint gets the endpoint's
-- id as its subject and concurrency key: see jobforge.endpoint_key.
create or replace function jobforge.new_job(
  p_type text,
  p_ord integer default 1,
  p_id uuid default null,
  p_payload jsonb default null,
  p_idempotency_key text default null,
  p_run_at timestamptz default null,
  p_max_attempts integer default null,
  p_priority integer default null,
  p_dedupe_key text default null,
  p_dedupe_mode text default null,
  p_tags text[] default null,
  p_subject text default null,
  p_concurrency_key text default null,
  p_expires_at timestamptz default null,
  p_traceparent text default null,
  p_default_attempts integer default null,
  p_notify jsonb default null
) returns jobforge.new_job
language sql stable parallel safe as $$
  select row(
    p_ord, p_id, p_type, coalesce(p_payload, '{}'), p_idempotency_key, p_run_at, p_max_attempts,
    coalesce(p_priority, 0), p_dedupe_key, coalesce(p_dedupe_mode, 'skip'), coalesce(p_tags, '{}'),
    coalesce(jobforge.endpoint_key(p_type, p_payload), p_subject),
    coalesce(jobforge.endpoint_key(p_type, p_payload), p_concurrency_key),
    p_expires_at, p_traceparent, jobforge.text_bytes(coalesce(p_payload, '{}')),
    p_default_attempts, p_notify)::jobforge.new_job
$$;

-- Returns the subject and concurrency key of a delivery to an endpoint, the endpoint's id; null for any other job. They
-- are the same however the job is enqueued: by the concurrency key, a hold of the endpoint parks the delivery, and by
-- the subject, the delivery is listed and counts for the endpoint's health. One expression, so that Postgres inlines
-- it: other jobs pay for comparing the type.
create or replace function jobforge.endpoint_key(p_type text, p_payload jsonb) returns text
language sql immutable parallel safe as $$
  select case when p_type = jobforge.webhook_type() then jobforge.uuid_or_null(p_payload ->> 'endpoint_id')::text end
$$;
