-- What MariaDB receives when a janitor reaps runs whose leases have ended.
-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.

-- ## No lease has ended.

-- Looks for a lease that has ended.
-- ?1 = 1767225600000
select 1 as one
from punctual_runs r force index (punctual_runs_counted)
where state = 2 and locked_until < ?
order by locked_until, id
limit 1;

-- ## The lease of a run has ended; the run becomes ready again.

-- Again: Looks for a lease that has ended.

-- Sets the isolation level of the next transaction.
set transaction isolation level read committed;

-- Begins the transaction.
start transaction;

-- Reads runs whose leases have ended.
-- ?1 = 1767225661000, ?2 = '1000'
select id, locked_by as worker
from punctual_runs r force index (punctual_runs_counted)
where state = 2 and locked_until < ?
order by locked_until, id
limit ?;

-- Reads the row of the dead worker. On a server it locks the row.
-- ?1 = 'w1', ?2 = 9007199254740991
select id from punctual_workers where id = ? and seen_at <= ? for update skip locked;

-- Reads the row of the dead worker. On a server it locks the row.
-- ?1 = 'w1', ?2 = 9007199254740991
select id from punctual_workers where id = ? and seen_at <= ?;

-- Reads these runs again, if their leases have still ended. On a server it locks them.
-- ?1 = '[[1]]', ?2 = 1767225661000
select r.id, r.name, r.queue, r.locked_by as worker, r.lease_token as token, r.attempts, r.logged,
  r.crashes, r.isolated, r.unique_until, r.started_at, r.cancelled_at, r.owner, r.suspect, r.batch_id
from json_table(?, '$[*]' columns (id bigint path '$[0]' error on error)) v
straight_join punctual_runs r force index (primary) on r.id = v.id
where r.state = 2 and r.locked_until < ?
order by r.id
for update skip locked;

-- Records the attempts that failed or crashed.
-- ?1 = '[[1,"crashed",1767225600000,1767225661000,"{\"name\":\"Error\",\"message\":\"crashed\"}","crashed"]]'
insert into punctual_attempts (run_id, attempt, outcome, worker, started_at, finished_at, error, fingerprint)
select r.id, r.attempts, v.outcome, r.locked_by, v.started_at, v.finished_at, v.error, v.fingerprint
from json_table(
  ?,
    '$[*]' columns (
      id bigint path '$[0]' error on error,
        outcome longtext character set utf8mb4 collate utf8mb4_nopad_bin path '$[1]' error on error,
        started_at bigint path '$[2]' error on error, finished_at bigint path '$[3]' error on error,
        error longtext character set utf8mb4 collate utf8mb4_nopad_bin path '$[4]' error on error,
        fingerprint longtext character set utf8mb4 collate utf8mb4_nopad_bin path '$[5]' error on error
    )
) v
straight_join punctual_runs r force index (primary) on r.id = v.id on duplicate key update punctual_attempts.outcome = if(
    punctual_attempts.run_id =
    values(run_id) and punctual_attempts.attempt =
    values(attempt),
    values(outcome), null
  ),
  punctual_attempts.worker =
values(worker), punctual_attempts.started_at =
values(started_at), punctual_attempts.finished_at =
values(finished_at), punctual_attempts.error =
values(error), punctual_attempts.fingerprint =
values(fingerprint);

-- Charges the runs with a crash.
-- ?1 = '[[1]]'
update json_table(?, '$[*]' columns (id bigint path '$[0]' error on error)) v
straight_join punctual_runs r force index (primary) on r.id = v.id
set r.crashes = r.crashes + 1;

-- Puts the runs back: ready, or scheduled if they wait.
-- ?1 = '[[1,1,null,0,0,0,null]]'
update json_table(
  ?,
    '$[*]' columns (
      id bigint path '$[0]' error on error, to_state bigint path '$[1]' error on error,
        due bigint path '$[2]' error on error, unused bigint path '$[3]' error on error,
        uncounted bigint path '$[4]' error on error, logged bigint path '$[5]' error on error,
        lane longtext character set utf8mb4 collate utf8mb4_nopad_bin path '$[6]' error on error
    )
) v
straight_join punctual_runs r force index (primary) on r.id = v.id
set r.state = v.to_state, r.lane = coalesce(v.lane, r.lane), r.run_at = coalesce(v.due, r.run_at),
  r.attempts = r.attempts - v.unused, r.uncounted = r.uncounted + v.uncounted, r.lease_token = null,
  r.locked_by = null, r.child = null, r.locked_until = null, r.started_at = null, r.isolated = 0,
  r.hook = null, r.logged = coalesce(v.logged, r.logged);

-- Commits.
commit;

-- ## The lease has ended once more; the run has crashed too often and fails.

-- Again: Looks for a lease that has ended.

-- Again: Sets the isolation level of the next transaction.

-- Again: Begins the transaction.

-- Again: Reads runs whose leases have ended.

-- Again: Reads the row of the dead worker. On a server it locks the row.

-- Again: Reads the row of the dead worker. On a server it locks the row.

-- Again: Reads these runs again, if their leases have still ended. On a server it locks them.

-- Again: Records the attempts that failed or crashed.

-- Again: Charges the runs with a crash.

-- Reads the runs that fail, for their hooks.
-- ?1 = '[[1]]'
select r.id, r.name, r.queue, r.lane, r.limited, r.priority, r.run_at, r.args, r.attempts, r.crashes,
  r.uncounted, r.suspect, r.timeout, r.retries, r.owner, r.tags, r.parent_id, r.batch_id, r.expires_at,
  r.traceparent, r.schedule, r.tick_at, r.created_at, r.cancelled_at, r.logged, r.unique_scope
from json_table(?, '$[*]' columns (id bigint path '$[0]' error on error)) v
straight_join punctual_runs r force index (primary) on r.id = v.id;

-- Copies the runs to history.
-- ?1 = 4, ?2 = 1767225661000, ?3 = 1767225722000, ?4 = null, ?5 = '{"name":"Error","message":"crashed"}'
-- ?6 = 'crashed', ?7 = null, ?8 = null, ?9 = '[[1]]'
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
from json_table(?, '$[*]' columns (id bigint path '$[0]' error on error)) v
straight_join punctual_runs r force index (primary) on r.id = v.id on duplicate key update punctual_history.name = if(punctual_history.id = values(id), values(name), null),
  punctual_history.queue =
values(queue), punctual_history.lane =
values(lane), punctual_history.limited =
values(limited), punctual_history.priority =
values(priority), punctual_history.run_at =
values(run_at), punctual_history.args =
values(args), punctual_history.attempts =
values(attempts), punctual_history.crashes =
values(crashes), punctual_history.uncounted =
values(uncounted), punctual_history.timeout =
values(timeout), punctual_history.retries =
values(retries), punctual_history.schedule =
values(schedule), punctual_history.tick_at =
values(tick_at), punctual_history.unique_key =
values(unique_key), punctual_history.unique_scope =
values(unique_scope), punctual_history.unique_until =
values(unique_until), punctual_history.owner =
values(owner), punctual_history.progress =
values(progress), punctual_history.tags =
values(tags), punctual_history.parent_id =
values(parent_id), punctual_history.rerun_of =
values(rerun_of), punctual_history.batch_id =
values(batch_id), punctual_history.traceparent =
values(traceparent), punctual_history.created_at =
values(created_at), punctual_history.worker =
values(worker), punctual_history.state =
values(state), punctual_history.started_at =
values(started_at), punctual_history.finished_at =
values(finished_at), punctual_history.keep_until =
values(keep_until), punctual_history.error =
values(error), punctual_history.fingerprint =
values(fingerprint), punctual_history.result =
values(result), punctual_history.child =
values(child);

-- Deletes the finished runs from `runs`.
-- ?1 = '[[1]]'
delete r from json_table(?, '$[*]' columns (id bigint path '$[0]' error on error)) v
straight_join punctual_runs r force index (primary) on r.id = v.id;

-- Again: Commits.
