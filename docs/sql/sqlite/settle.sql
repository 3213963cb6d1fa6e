-- What SQLite receives when a worker settles runs.
-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.

-- ## A run is completed.

-- Begins the transaction.
begin immediate;

-- Stores the number of this exchange: if it is sent again, it settles nothing twice.
-- ?1 = 2, ?2 = 'w1', ?3 = 0
update punctual_exchanges set seq = ? where worker = ? and stream = ?;

-- Reads the runs of these leases. On a server it locks them.
-- ?1 = '[[1]]'
select r.id, r.name, r.lane, r.queue, r.limited, r.lease_token as token, r.attempts, r.logged,
  r.unique_until, r.cancelled_at
from (select value ->> 0 as id from json_each(?)) v
join punctual_runs r on r.id = v.id;

-- Copies the runs to history.
-- ?1 = 3, ?2 = 1767225599995, ?3 = 1767225600000, ?4 = null, ?5 = null, ?6 = null, ?7 = '42', ?8 = null
-- ?9 = '[[1]]'
insert into punctual_history (
  name, queue, lane, limited, priority, run_at, args, attempts, crashes, uncounted, timeout, retries,
    schedule, tick_at, unique_key, unique_scope, unique_until, owner, progress, tags, parent_id, rerun_of,
    batch_id, traceparent, created_at, worker, id, state, started_at, finished_at, keep_until, error,
    fingerprint, result, child
)
select r.name, r.queue, r.lane, r.limited, r.priority, r.run_at, r.args, r.attempts, r.crashes, r.uncounted,
  r.timeout, r.retries, r.schedule, r.tick_at, r.unique_key, r.unique_scope, r.unique_until, r.owner,
  r.progress, r.tags, r.parent_id, r.rerun_of, r.batch_id, r.traceparent, r.created_at, r.locked_by, v.id, ?,
  ?, ?, ?, ?, ?, ?, coalesce(?, r.child)
from (select value ->> 0 as id from json_each(?)) v
join punctual_runs r on r.id = v.id
where true
on conflict (id) do update set name = excluded.name, queue = excluded.queue, lane = excluded.lane,
  limited = excluded.limited, priority = excluded.priority, run_at = excluded.run_at, args = excluded.args,
  attempts = excluded.attempts, crashes = excluded.crashes, uncounted = excluded.uncounted,
  timeout = excluded.timeout, retries = excluded.retries, schedule = excluded.schedule,
  tick_at = excluded.tick_at, unique_key = excluded.unique_key, unique_scope = excluded.unique_scope,
  unique_until = excluded.unique_until, owner = excluded.owner, progress = excluded.progress,
  tags = excluded.tags, parent_id = excluded.parent_id, rerun_of = excluded.rerun_of,
  batch_id = excluded.batch_id, traceparent = excluded.traceparent, created_at = excluded.created_at,
  worker = excluded.worker, state = excluded.state, started_at = excluded.started_at,
  finished_at = excluded.finished_at, keep_until = excluded.keep_until, error = excluded.error,
  fingerprint = excluded.fingerprint, result = excluded.result, child = excluded.child;

-- Deletes the finished runs from `runs`.
-- ?1 = '[[1]]'
delete from punctual_runs where id in (select v.id from (select value ->> 0 as id from json_each(?)) v);

-- Reads paused jobs.
select name from punctual_jobs where paused_at is not null;

-- Reads paused queues.
-- ?1 = 1767225600000
select name from punctual_queues where paused_at is not null and (paused_until is null or paused_until > ?);

-- Reads when the next scheduled run is due.
select run_at from punctual_runs where state = 0 order by run_at, id limit 1;

-- Reads which runs of this worker somebody asked to cancel.
-- ?1 = 'w1'
select id from punctual_runs where state = 2 and cancelled_at is not null and locked_by = ?;

-- Commits.
commit;

-- ## A run is completed, and its job keeps no history.

-- Again: Begins the transaction.

-- Again: Stores the number of this exchange: if it is sent again, it settles nothing twice.

-- Again: Reads the runs of these leases. On a server it locks them.

-- Again: Deletes the finished runs from `runs`.

-- Again: Reads paused jobs.

-- Again: Reads paused queues.

-- Again: Reads when the next scheduled run is due.

-- Again: Reads which runs of this worker somebody asked to cancel.

-- Again: Commits.

-- ## An attempt failed; the run is retried in 30 seconds.

-- Again: Begins the transaction.

-- Again: Stores the number of this exchange: if it is sent again, it settles nothing twice.

-- Again: Reads the runs of these leases. On a server it locks them.

-- Records the attempts that failed or crashed.
-- ?1 = '[[3,"retried",1767225599995,1767225600000,"{\"name\":\"Error\",\"message\":\"refused\"}","f1"]]'
insert into punctual_attempts (run_id, attempt, outcome, worker, started_at, finished_at, error, fingerprint)
select r.id, r.attempts, v.outcome, r.locked_by, v.started_at, v.finished_at, v.error, v.fingerprint
from (
  select value ->> 0 as id, value ->> 1 as outcome, value ->> 2 as started_at, value ->> 3 as finished_at,
    value ->> 4 as error, value ->> 5 as fingerprint
  from json_each(?)
) v
join punctual_runs r on r.id = v.id
where true
on conflict (run_id, attempt) do update set outcome = excluded.outcome, worker = excluded.worker,
  started_at = excluded.started_at, finished_at = excluded.finished_at, error = excluded.error,
  fingerprint = excluded.fingerprint;

-- Puts the runs back: ready, or scheduled if they wait.
-- ?1 = '[[3,0,1767225630000,0,0,0,null]]'
update punctual_runs as r
set state = v.to_state, lane = coalesce(v.lane, r.lane), run_at = coalesce(v.due, r.run_at),
  attempts = r.attempts - v.unused, uncounted = r.uncounted + v.uncounted, lease_token = null,
  locked_by = null, child = null, locked_until = null, started_at = null, isolated = 0, hook = null,
  logged = coalesce(v.logged, r.logged)
from (
  select value ->> 0 as id, value ->> 1 as to_state, value ->> 2 as due, value ->> 3 as unused,
    value ->> 4 as uncounted, value ->> 5 as logged, value ->> 6 as lane
  from json_each(?)
) v
where r.id = v.id and true;

-- Again: Reads paused jobs.

-- Again: Reads paused queues.

-- Again: Reads when the next scheduled run is due.

-- Again: Reads which runs of this worker somebody asked to cancel.

-- Again: Commits.

-- ## The last attempt of a run failed.

-- Again: Begins the transaction.

-- Again: Stores the number of this exchange: if it is sent again, it settles nothing twice.

-- Again: Reads the runs of these leases. On a server it locks them.

-- Again: Records the attempts that failed or crashed.

-- Again: Copies the runs to history.

-- Again: Deletes the finished runs from `runs`.

-- Again: Reads paused jobs.

-- Again: Reads paused queues.

-- Again: Reads when the next scheduled run is due.

-- Again: Reads which runs of this worker somebody asked to cancel.

-- Again: Commits.
