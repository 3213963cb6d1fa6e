-- What PostgreSQL receives when a worker settles runs.
-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.

-- ## A run is completed.

-- Begins the transaction.
begin isolation level read committed; set local enable_seqscan = off; set local jit = off; set local idle_in_transaction_session_timeout = '10s';

-- Stores the number of this exchange: if it is sent again, it settles nothing twice.
-- $1 = 2, $2 = 'w1', $3 = 0
update punctual_exchanges set seq = $1 where worker = $2 and stream = $3;

-- Moves the runs whose leases are held from `runs` to `history`, and returns them.
-- $1 = '{1}', $2 = 'token-1', $3 = 3, $4 = 1767225599995, $5 = 1767225600000, $6 = null, $7 = null, $8 = null
-- $9 = '42', $10 = null
with gone as (
    delete from punctual_runs r
    where r.id = any(cast($1 as text)::bigint[]) and r.lease_token = cast($2 as text)
    returning r.name, r.queue, r.lane, r.limited, r.priority, r.run_at, r.args, r.attempts, r.crashes,
      r.uncounted, r.timeout, r.retries, r.schedule, r.tick_at, r.unique_key, r.unique_scope, r.unique_until,
      r.owner, r.progress, r.tags, r.parent_id, r.rerun_of, r.batch_id, r.traceparent, r.created_at,
      r.locked_by as worker, r.id, cast($3 as bigint) as state, cast($4 as bigint) as started_at,
      cast($5 as bigint) as finished_at, cast($6 as bigint) as keep, cast($7 as text) as error,
      cast($8 as text) as fingerprint, cast($9 as text) as result,
      coalesce(cast($10 as text), r.child) as child, r.logged
  ),
  moved as (
    insert into punctual_history (
      name, queue, lane, limited, priority, run_at, args, attempts, crashes, uncounted, timeout, retries,
        schedule, tick_at, unique_key, unique_scope, unique_until, owner, progress, tags, parent_id, rerun_of,
        batch_id, traceparent, created_at, worker, id, state, started_at, finished_at, keep_until, error,
        fingerprint, result, child
    )
    select name, queue, lane, limited, priority, run_at, args, attempts, crashes, uncounted, timeout,
      retries, schedule, tick_at, unique_key, unique_scope, unique_until, owner, progress, tags, parent_id,
      rerun_of, batch_id, traceparent, created_at, worker, id, state, started_at, finished_at,
      case when keep is not null then greatest(finished_at + keep, coalesce(unique_until, 0)) end, error,
      fingerprint, result, child
    from gone
    where (keep is null or keep <> 0 or coalesce(unique_until, 0) > finished_at)
  )
select id, name, lane, queue, limited, attempts, logged,
  case when (keep is null or keep <> 0 or coalesce(unique_until, 0) > finished_at) then 1 else 0 end as kept
from gone;

-- Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.
-- $1 = 1767225600000, $2 = '', $3 = 'w1'
select 'job' as kind, name as word, 0 as number
from (select name from punctual_jobs where paused_at is not null order by name limit (select 1000000)) p
union all
select 'queue', name, 0
from punctual_queues
where paused_at is not null and (paused_until is null or paused_until > $1)
union all
select 'ready', queue, limited
from (
  with recursive free as (
      (
        select queue
        from punctual_runs
        where state = 1 and limited = 0 and owner is null
        order by queue
        limit 1
      )
      union all
      select (
        select queue
        from punctual_runs
        where state = 1 and limited = 0 and owner is null and queue > free.queue
        order by queue
        limit 1
      )
      from free
      where free.queue is not null
    ),
    bound as (
      (
        select queue
        from punctual_runs
        where state = 1 and limited = 1 and owner is null
        order by queue
        limit 1
      )
      union all
      select (
        select queue
        from punctual_runs
        where state = 1 and limited = 1 and owner is null and queue > bound.queue
        order by queue
        limit 1
      )
      from bound
      where bound.queue is not null
    )
  select queue, 0 as limited
  from free
  where queue is not null
  union all
  select queue, 1
  from bound
  where queue is not null
) q
union all
select 'owned', '',
  case when exists (select 1 from punctual_runs where owner = $2 and state = 1) then 1 else 0 end
union all
select 'cancelled', '', id
from (select id from punctual_runs where state = 2 and cancelled_at is not null and locked_by = $3) c
union all
select 'due', '', run_at
from (select min(run_at) as run_at from punctual_runs where state = 0) d
union all
select 'now', '', now
from (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now) c;

-- Commits.
commit;

-- ## A run is completed, and its job keeps no history.

-- Again: Begins the transaction.

-- Again: Stores the number of this exchange: if it is sent again, it settles nothing twice.

-- Again: Moves the runs whose leases are held from `runs` to `history`, and returns them.

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Commits.

-- ## An attempt failed; the run is retried in 30 seconds.

-- Again: Begins the transaction.

-- Again: Stores the number of this exchange: if it is sent again, it settles nothing twice.

-- Reads the runs of these leases. On a server it locks them.
-- $1 = '[[3]]'
select r.id, r.name, r.lane, r.queue, r.limited, r.lease_token as token, r.attempts, r.logged,
  r.unique_until, r.cancelled_at
from (select (e.v ->> 0)::bigint as id from jsonb_array_elements($1::text::jsonb) as e (v)) v
join punctual_runs r on r.id = v.id
order by r.id
for update of r;

-- Records the attempts that failed or crashed.
-- $1 = '[[3,"retried",1767225599995,1767225600000,"{\"name\":\"Error\",\"message\":\"refused\"}","f1"]]'
insert into punctual_attempts (run_id, attempt, outcome, worker, started_at, finished_at, error, fingerprint)
select r.id, r.attempts, v.outcome, r.locked_by, v.started_at, v.finished_at, v.error, v.fingerprint
from (
  select (e.v ->> 0)::bigint as id, e.v ->> 1 as outcome, (e.v ->> 2)::bigint as started_at,
    (e.v ->> 3)::bigint as finished_at, e.v ->> 4 as error, e.v ->> 5 as fingerprint
  from jsonb_array_elements($1::text::jsonb) as e (v)
) v
join punctual_runs r on r.id = v.id;

-- Puts the runs back: ready, or scheduled if they wait.
-- $1 = '[[3,0,1767225630000,0,0,0,null]]'
update punctual_runs as r
set state = v.to_state, lane = coalesce(v.lane, r.lane), run_at = coalesce(v.due, r.run_at),
  attempts = r.attempts - v.unused, uncounted = r.uncounted + v.uncounted, lease_token = null,
  locked_by = null, child = null, locked_until = null, started_at = null, isolated = 0, hook = null,
  logged = coalesce(v.logged, r.logged)
from (
  select (e.v ->> 0)::bigint as id, (e.v ->> 1)::bigint as to_state, (e.v ->> 2)::bigint as due,
    (e.v ->> 3)::bigint as unused, (e.v ->> 4)::bigint as uncounted, (e.v ->> 5)::bigint as logged,
    e.v ->> 6 as lane
  from jsonb_array_elements($1::text::jsonb) as e (v)
) v
where v.id = r.id;

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Commits.

-- ## The last attempt of a run failed.

-- Again: Begins the transaction.

-- Again: Stores the number of this exchange: if it is sent again, it settles nothing twice.

-- Again: Reads the runs of these leases. On a server it locks them.

-- Again: Records the attempts that failed or crashed.

-- Copies the runs to history.
-- $1 = 4, $2 = 1767225599995, $3 = 1767225600000, $4 = null, $5 = '{"name":"Error","message":"refused"}'
-- $6 = 'f1', $7 = null, $8 = null, $9 = '[[4]]'
insert into punctual_history (
  name, queue, lane, limited, priority, run_at, args, attempts, crashes, uncounted, timeout, retries,
    schedule, tick_at, unique_key, unique_scope, unique_until, owner, progress, tags, parent_id, rerun_of,
    batch_id, traceparent, created_at, worker, id, state, started_at, finished_at, keep_until, error,
    fingerprint, result, child
)
select r.name, r.queue, r.lane, r.limited, r.priority, r.run_at, r.args, r.attempts, r.crashes, r.uncounted,
  r.timeout, r.retries, r.schedule, r.tick_at, r.unique_key, r.unique_scope, r.unique_until, r.owner,
  r.progress, r.tags, r.parent_id, r.rerun_of, r.batch_id, r.traceparent, r.created_at, r.locked_by, v.id, $1,
  $2, $3, $4, $5, $6, $7, coalesce($8, r.child)
from (select (e.v ->> 0)::bigint as id from jsonb_array_elements($9::text::jsonb) as e (v)) v
join punctual_runs r on r.id = v.id;

-- Deletes the finished runs from `runs`.
-- $1 = '[[4]]'
delete from punctual_runs
where id in (select v.id from (select (e.v ->> 0)::bigint as id from jsonb_array_elements($1::text::jsonb) as e (v)) v);

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Commits.
