-- What SQLite receives when a worker claims runs.
-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.

-- ## Nothing is ready: an idle worker.

-- Reads when the next scheduled run is due.
select run_at from punctual_runs where state = 0 order by run_at, id limit 1;

-- Reads whether runs without limits are ready.
select 1 from punctual_runs where state = 1 and limited = 0 and owner is null limit 1;

-- Reads whether runs under limits are ready.
select 1 from punctual_runs where state = 1 and limited = 1 and owner is null limit 1;

-- Reads whether ad hoc runs of this instance are ready.
-- ?1 = 'w1'
select 1 from punctual_runs where state = 1 and owner is not null and owner = ? limit 1;

-- Reads which runs of this worker somebody asked to cancel.
-- ?1 = 'w1'
select id from punctual_runs where state = 2 and cancelled_at is not null and locked_by = ?;

-- Reads paused jobs.
select name from punctual_jobs where paused_at is not null;

-- Reads paused queues.
-- ?1 = 1767225600000
select name from punctual_queues where paused_at is not null and (paused_until is null or paused_until > ?);

-- ## One run is ready; no limit holds it.

-- Again: Reads when the next scheduled run is due.

-- Again: Reads whether runs without limits are ready.

-- Begins the transaction.
begin immediate;

-- Again: Reads paused jobs.

-- Again: Reads paused queues.

-- Turns scheduled runs that are due into ready ones.
-- ?1 = 1767225600000
update punctual_runs
set state = 1
where id in (select id from punctual_runs where state = 0 and run_at <= ? order by run_at, id limit 1000);

-- Reads the next queue with ready runs without limits.
-- ?1 = ''
select min(queue) as queue from punctual_runs where state = 1 and limited = 0 and owner is null and queue > ?;

-- Again: Reads the next queue with ready runs without limits.

-- Reads the next queue with ready runs under limits.
-- ?1 = ''
select min(queue) as queue from punctual_runs where state = 1 and limited = 1 and owner is null and queue > ?;

-- Reads ready ad hoc runs of this instance.
-- ?1 = 'w1', ?2 = 2
select id, name, queue, lane, limited, priority, run_at, args, attempts, crashes, uncounted, suspect,
  timeout, retries, owner, tags, parent_id, batch_id, expires_at, traceparent, schedule, tick_at, created_at,
  cancelled_at, logged, unique_scope
from punctual_runs
where owner is not null and owner = ? and state = 1
order by priority, run_at, id
limit ?;

-- Reads the first ready runs of a queue without limits.
-- ?1 = 'default', ?2 = 2
select id, name, queue, lane, limited, priority, run_at, args, attempts, crashes, uncounted, suspect,
  timeout, retries, owner, tags, parent_id, batch_id, expires_at, traceparent, schedule, tick_at, created_at,
  cancelled_at, logged, unique_scope
from punctual_runs
where state = 1 and limited = 0 and owner is null and queue = ?
order by priority, run_at, id
limit ?;

-- Reads the limits of a job.
-- ?1 = 'email'
select lim, key_lim from punctual_jobs where name = ?;

-- Reads the limit and the rate of a queue.
-- ?1 = 'default'
select lim, rate from punctual_queues where name = ?;

-- Reads the first runs under limits of each queue (the window).
-- ?1 = 'default'
select id, name, lane, queue, priority, run_at, cost
from punctual_runs
where state = 1 and limited = 1 and owner is null and queue = ?
order by priority, run_at, id
limit 64;

-- Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.
-- ?1 = 'token-2', ?2 = 'w1', ?3 = 1767225660000, ?4 = 1767225600000, ?5 = 1767225600000, ?6 = '[1]'
update punctual_runs
set state = 2, attempts = attempts + 1, lease_token = ?, locked_by = ?, locked_until = ?, started_at = ?,
  unique_key = case when unique_scope = 1 and coalesce(unique_until, 0) <= ? then null else unique_key end,
  unique_scope = case when unique_scope = 1 then 0 else unique_scope end
where id in (select value from json_each(?));

-- Again: Reads when the next scheduled run is due.

-- Again: Reads which runs of this worker somebody asked to cancel.

-- Commits.
commit;

-- ## A run was announced to an idle worker.

-- Again: Reads when the next scheduled run is due.

-- Again: Reads whether runs without limits are ready.

-- Again: Begins the transaction.

-- Again: Reads paused jobs.

-- Again: Reads paused queues.

-- Again: Turns scheduled runs that are due into ready ones.

-- Again: Reads the next queue with ready runs without limits.

-- Again: Reads the next queue with ready runs without limits.

-- Again: Reads the next queue with ready runs under limits.

-- Again: Reads ready ad hoc runs of this instance.

-- Again: Reads the first ready runs of a queue without limits.

-- Again: Reads the limits of a job.

-- Again: Reads the limit and the rate of a queue.

-- Again: Reads the first runs under limits of each queue (the window).

-- Again: Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.

-- Again: Reads when the next scheduled run is due.

-- Again: Reads which runs of this worker somebody asked to cancel.

-- Again: Commits.

-- ## One run is ready, under limits of its job, its key and its queue.

-- Again: Reads when the next scheduled run is due.

-- Again: Reads whether runs without limits are ready.

-- Again: Reads whether runs under limits are ready.

-- Again: Begins the transaction.

-- Again: Reads paused jobs.

-- Again: Reads paused queues.

-- Again: Turns scheduled runs that are due into ready ones.

-- Again: Reads the next queue with ready runs without limits.

-- Again: Reads the next queue with ready runs under limits.

-- Again: Reads the next queue with ready runs under limits.

-- Again: Reads ready ad hoc runs of this instance.

-- Again: Reads the first ready runs of a queue without limits.

-- Again: Reads the first runs under limits of each queue (the window).

-- Again: Reads the limits of a job.

-- Reads the leases of running runs of a job: each is a slot.
-- ?1 = 'report'
select lease_token as token from punctual_runs where state = 2 and owner is null and name = ?;

-- Again: Reads the limit and the rate of a queue.

-- Reads the leases of running runs of a queue: each is a slot.
-- ?1 = 'slow'
select lease_token as token from punctual_runs where state = 2 and owner is null and queue = ?;

-- Reads the leases of running runs of a key: each is a slot.
-- ?1 = 'report', ?2 = 'report|ada'
select lease_token as token from punctual_runs where state = 2 and owner is null and name = ? and lane = ?;

-- Reads the chosen runs.
-- ?1 = '[3]'
select id, name, queue, lane, limited, priority, run_at, args, attempts, crashes, uncounted, suspect,
  timeout, retries, owner, tags, parent_id, batch_id, expires_at, traceparent, schedule, tick_at, created_at,
  cancelled_at, logged, unique_scope
from punctual_runs
where id in (select value from json_each(?));

-- Again: Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.

-- Again: Reads when the next scheduled run is due.

-- Again: Reads which runs of this worker somebody asked to cancel.

-- Again: Commits.

-- ## A scheduled run has become due.

-- Again: Reads when the next scheduled run is due.

-- Again: Reads whether runs without limits are ready.

-- Again: Reads whether runs under limits are ready.

-- Again: Reads whether ad hoc runs of this instance are ready.

-- Again: Begins the transaction.

-- Again: Reads paused jobs.

-- Again: Reads paused queues.

-- Again: Turns scheduled runs that are due into ready ones.

-- Again: Reads the next queue with ready runs without limits.

-- Again: Reads the next queue with ready runs without limits.

-- Again: Reads the next queue with ready runs under limits.

-- Again: Reads ready ad hoc runs of this instance.

-- Again: Reads the first ready runs of a queue without limits.

-- Again: Reads the limits of a job.

-- Again: Reads the limit and the rate of a queue.

-- Again: Reads the first runs under limits of each queue (the window).

-- Again: Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.

-- Again: Reads when the next scheduled run is due.

-- Again: Reads which runs of this worker somebody asked to cancel.

-- Again: Commits.

-- ## A run waits behind 70 runs of a key that is at its limit: the claim walks the lanes.

-- Again: Reads when the next scheduled run is due.

-- Again: Reads whether runs without limits are ready.

-- Again: Reads whether runs under limits are ready.

-- Again: Begins the transaction.

-- Again: Reads paused jobs.

-- Again: Reads paused queues.

-- Again: Turns scheduled runs that are due into ready ones.

-- Again: Reads the next queue with ready runs without limits.

-- Again: Reads the next queue with ready runs under limits.

-- Again: Reads the next queue with ready runs under limits.

-- Again: Reads ready ad hoc runs of this instance.

-- Again: Reads the first ready runs of a queue without limits.

-- Again: Reads the first runs under limits of each queue (the window).

-- Again: Reads the limits of a job.

-- Again: Reads the leases of running runs of a job: each is a slot.

-- Again: Reads the limit and the rate of a queue.

-- Again: Reads the leases of running runs of a queue: each is a slot.

-- Again: Reads the leases of running runs of a key: each is a slot.

-- Reads the first run of the next lane.
-- ?1 = 'slow'
select id, name, lane, queue, priority, run_at, cost
from punctual_runs
where state = 1 and limited = 1 and owner is null and queue = ?
order by priority, lane, run_at, id
limit 1;

-- Reads the first run of the next lane.
-- ?1 = 'slow', ?2 = 100, ?3 = 'report|ada'
select id, name, lane, queue, priority, run_at, cost
from punctual_runs
where state = 1 and limited = 1 and owner is null and queue = ? and priority = ? and lane > ?
order by priority, lane, run_at, id
limit 1;

-- Again: Reads the leases of running runs of a key: each is a slot.

-- Reads the first runs of the lanes.
-- ?1 = 'slow', ?2 = 100, ?3 = 'report|bob', ?4 = 66
select id, name, lane, queue, priority, run_at, cost
from punctual_runs
where state = 1 and limited = 1 and owner is null and queue = ? and priority = ? and lane = ?
order by run_at, id
limit ?;

-- Again: Reads the first run of the next lane.

-- Reads the first run of the next lane.
-- ?1 = 'slow', ?2 = 100
select id, name, lane, queue, priority, run_at, cost
from punctual_runs
where state = 1 and limited = 1 and owner is null and queue = ? and priority > ?
order by priority, lane, run_at, id
limit 1;

-- Again: Reads the chosen runs.

-- Again: Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.

-- Again: Reads when the next scheduled run is due.

-- Again: Reads which runs of this worker somebody asked to cancel.

-- Again: Commits.
