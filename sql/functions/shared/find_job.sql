-- Returns a job by id, live or finished. Leaves of the archive that are older than the job are not read.
create or replace function jobforge.find_job(p_job_id uuid) returns setof jobforge.all_jobs
language sql stable as $$
  select * from jobforge.live_jobs j where j.id = p_job_id
  union all
  select * from jobforge.ended_jobs j
  where j.id = p_job_id and j.finished_at >= jobforge.earliest_finish(p_job_id)
$$;

-- Returns a time before which a job cannot have finished: the day before its id was made. Conditions on finished_at
-- that use it keep older leaves of the archive from being read. The id of a job that another store has made may be no
-- UUIDv7, and says nothing about its time.
create or replace function jobforge.earliest_finish(p_job_id uuid) returns timestamptz
language sql stable parallel safe as $$
  select case when substr(p_job_id::text, 15, 1) = '7' then jobforge.time_of(p_job_id) - interval '1 day'
    else '-infinity' end
$$;
