-- What MariaDB receives when a worker settles runs.
-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.

-- ## A run is completed.

-- Sets the isolation level of the next transaction.
set transaction isolation level read committed;

-- Begins the transaction.
start transaction;

-- Stores the number of this exchange: if it is sent again, it settles nothing twice.
-- ?1 = 2, ?2 = 'w1', ?3 = 0
update punctual_exchanges set seq = ? where worker = ? and stream = ?;

-- Reads the runs of these leases. On a server it locks them.
-- ?1 = '[[1]]'
select r.id, r.name, r.lane, r.queue, r.limited, r.lease_token as token, r.attempts, r.logged,
  r.unique_until, r.cancelled_at
from json_table(?, '$[*]' columns (id bigint path '$[0]' error on error)) v
straight_join punctual_runs r force index (primary) on r.id = v.id
order by r.id
for update;

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

-- Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.
-- ?1 = 1767225600000, ?2 = '', ?3 = 'w1'
select 'job' as kind, name as word, 0 as number
from (select name from punctual_jobs where paused_at is not null) p
union all
select 'queue', name, 0
from punctual_queues
where paused_at is not null and (paused_until is null or paused_until > ?)
union all
select 'ready', queue, limited
from (
  select queue, 0 as limited
  from (
    select max(queue) as queue
    from punctual_runs force index (punctual_runs_ready)
    where state = 1 and limited = 0 and owner is null
  ) next_one
  where queue is not null
  union all
  select queue, 0 as limited
  from (
    select max(queue) as queue
    from punctual_runs force index (punctual_runs_ready)
    where state = 1
      and limited = 0
      and owner is null
      and queue < (
        select max(queue) as queue
        from punctual_runs force index (punctual_runs_ready)
        where state = 1 and limited = 0 and owner is null
      )
  ) next_one
  where queue is not null
  union all
  select queue, 0 as limited
  from (
    select max(queue) as queue
    from punctual_runs force index (punctual_runs_ready)
    where state = 1
      and limited = 0
      and owner is null
      and queue < (
        select max(queue) as queue
        from punctual_runs force index (punctual_runs_ready)
        where state = 1
          and limited = 0
          and owner is null
          and queue < (
            select max(queue) as queue
            from punctual_runs force index (punctual_runs_ready)
            where state = 1 and limited = 0 and owner is null
          )
      )
  ) next_one
  where queue is not null
  union all
  select queue, 0 as limited
  from punctual_runs force index (punctual_runs_ready)
  where state = 1
    and limited = 0
    and owner is null
    and queue < (
      select max(queue) as queue
      from punctual_runs force index (punctual_runs_ready)
      where state = 1
        and limited = 0
        and owner is null
        and queue < (
          select max(queue) as queue
          from punctual_runs force index (punctual_runs_ready)
          where state = 1
            and limited = 0
            and owner is null
            and queue < (
              select max(queue) as queue
              from punctual_runs force index (punctual_runs_ready)
              where state = 1 and limited = 0 and owner is null
            )
        )
    )
  group by state, limited, owner, queue
  union all
  select queue, 1 as limited
  from (
    select max(queue) as queue
    from punctual_runs force index (punctual_runs_ready)
    where state = 1 and limited = 1 and owner is null
  ) next_one
  where queue is not null
  union all
  select queue, 1 as limited
  from (
    select max(queue) as queue
    from punctual_runs force index (punctual_runs_ready)
    where state = 1
      and limited = 1
      and owner is null
      and queue < (
        select max(queue) as queue
        from punctual_runs force index (punctual_runs_ready)
        where state = 1 and limited = 1 and owner is null
      )
  ) next_one
  where queue is not null
  union all
  select queue, 1 as limited
  from (
    select max(queue) as queue
    from punctual_runs force index (punctual_runs_ready)
    where state = 1
      and limited = 1
      and owner is null
      and queue < (
        select max(queue) as queue
        from punctual_runs force index (punctual_runs_ready)
        where state = 1
          and limited = 1
          and owner is null
          and queue < (
            select max(queue) as queue
            from punctual_runs force index (punctual_runs_ready)
            where state = 1 and limited = 1 and owner is null
          )
      )
  ) next_one
  where queue is not null
  union all
  select queue, 1 as limited
  from punctual_runs force index (punctual_runs_ready)
  where state = 1
    and limited = 1
    and owner is null
    and queue < (
      select max(queue) as queue
      from punctual_runs force index (punctual_runs_ready)
      where state = 1
        and limited = 1
        and owner is null
        and queue < (
          select max(queue) as queue
          from punctual_runs force index (punctual_runs_ready)
          where state = 1
            and limited = 1
            and owner is null
            and queue < (
              select max(queue) as queue
              from punctual_runs force index (punctual_runs_ready)
              where state = 1 and limited = 1 and owner is null
            )
        )
    )
  group by state, limited, owner, queue
) q
union all
select 'owned', '',
  case when exists (select 1 from punctual_runs force index (punctual_runs_owned) where owner = ? and state = 1) then 1 else 0 end
union all
select 'cancelled', '', id
from (
  select id
  from punctual_runs force index (punctual_runs_leased)
  where state = 2 and cancelled_at is not null and locked_by = ?
) c
union all
select 'due', '', run_at
from (
  select min(run_at) as run_at
  from punctual_runs force index (punctual_runs_scheduled)
  where state = 0
    and run_at <= (select max(run_at) from punctual_runs force index (punctual_runs_scheduled) where state = 0)
) d
union all
select 'now', '', now
from (
  select (timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) + timestampdiff(microsecond, now(6), sysdate(6))) div 1000 as now
) c;

-- Commits.
commit;

-- ## A run is completed, and its job keeps no history.

-- Again: Sets the isolation level of the next transaction.

-- Again: Begins the transaction.

-- Again: Stores the number of this exchange: if it is sent again, it settles nothing twice.

-- Again: Reads the runs of these leases. On a server it locks them.

-- Again: Deletes the finished runs from `runs`.

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Commits.

-- ## An attempt failed; the run is retried in 30 seconds.

-- Again: Sets the isolation level of the next transaction.

-- Again: Begins the transaction.

-- Again: Stores the number of this exchange: if it is sent again, it settles nothing twice.

-- Again: Reads the runs of these leases. On a server it locks them.

-- Records the attempts that failed or crashed.
-- ?1 = '[[3,"retried",1767225599995,1767225600000,"{\"name\":\"Error\",\"message\":\"refused\"}","f1"]]'
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

-- Puts the runs back: ready, or scheduled if they wait.
-- ?1 = '[[3,0,1767225630000,0,0,0,null]]'
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

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Commits.

-- ## The last attempt of a run failed.

-- Again: Sets the isolation level of the next transaction.

-- Again: Begins the transaction.

-- Again: Stores the number of this exchange: if it is sent again, it settles nothing twice.

-- Again: Reads the runs of these leases. On a server it locks them.

-- Again: Records the attempts that failed or crashed.

-- Again: Copies the runs to history.

-- Again: Deletes the finished runs from `runs`.

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Commits.
