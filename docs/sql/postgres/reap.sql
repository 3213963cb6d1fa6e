-- What PostgreSQL receives when a janitor reaps runs whose leases have ended.
-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.

-- ## No lease has ended.

-- Looks for a lease that has ended.
-- $1 = 1767225600000
select 1 as one from punctual_runs r where state = 2 and locked_until < $1 order by locked_until, id limit 1;

-- ## The lease of a run has ended; the run becomes ready again.

-- Again: Looks for a lease that has ended.

-- Begins the transaction.
begin isolation level read committed; set local enable_seqscan = off; set local jit = off; set local idle_in_transaction_session_timeout = '10s';

-- Reads runs whose leases have ended.
-- $1 = 1767225661000, $2 = 1000
select id, locked_by as worker
from punctual_runs r
where state = 2 and locked_until < $1
order by locked_until, id
limit $2;

-- Reads the row of the dead worker. On a server it locks the row.
-- $1 = 'w1', $2 = 9007199254740991
select id from punctual_workers where id = $1 and seen_at <= $2 for update skip locked;

-- Reads the row of the dead worker. On a server it locks the row.
-- $1 = 'w1', $2 = 9007199254740991
select id from punctual_workers where id = $1 and seen_at <= $2;

-- Reads these runs again, if their leases have still ended. On a server it locks them.
-- $1 = '[[1]]', $2 = 1767225661000
select r.id, r.name, r.queue, r.locked_by as worker, r.lease_token as token, r.attempts, r.logged,
  r.crashes, r.isolated, r.unique_until, r.started_at, r.cancelled_at, r.owner, r.suspect, r.batch_id
from (select (e.v ->> 0)::bigint as id from jsonb_array_elements($1::text::jsonb) as e (v)) v
join punctual_runs r on r.id = v.id
where r.state = 2 and r.locked_until < $2
order by r.id
for update of r skip locked;

-- Records the attempts that failed or crashed.
-- $1 = '[[1,"crashed",1767225600000,1767225661000,"{\"name\":\"Error\",\"message\":\"crashed\"}","crashed"]]'
insert into punctual_attempts (run_id, attempt, outcome, worker, started_at, finished_at, error, fingerprint)
select r.id, r.attempts, v.outcome, r.locked_by, v.started_at, v.finished_at, v.error, v.fingerprint
from (
  select (e.v ->> 0)::bigint as id, e.v ->> 1 as outcome, (e.v ->> 2)::bigint as started_at,
    (e.v ->> 3)::bigint as finished_at, e.v ->> 4 as error, e.v ->> 5 as fingerprint
  from jsonb_array_elements($1::text::jsonb) as e (v)
) v
join punctual_runs r on r.id = v.id;

-- Charges the runs with a crash.
-- $1 = '[[1]]'
update punctual_runs as r
set crashes = r.crashes + 1
from (select (e.v ->> 0)::bigint as id from jsonb_array_elements($1::text::jsonb) as e (v)) v
where v.id = r.id;

-- Puts the runs back: ready, or scheduled if they wait.
-- $1 = '[[1,1,null,0,0,0,null]]'
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

-- Commits.
commit;

-- ## The lease has ended once more; the run has crashed too often and fails.

-- Again: Looks for a lease that has ended.

-- Again: Begins the transaction.

-- Again: Reads runs whose leases have ended.

-- Again: Reads the row of the dead worker. On a server it locks the row.

-- Again: Reads the row of the dead worker. On a server it locks the row.

-- Again: Reads these runs again, if their leases have still ended. On a server it locks them.

-- Again: Records the attempts that failed or crashed.

-- Again: Charges the runs with a crash.

-- Reads the runs that fail, for their hooks.
-- $1 = '[[1]]'
select r.id, r.name, r.queue, r.lane, r.limited, r.priority, r.run_at, r.args, r.attempts, r.crashes,
  r.uncounted, r.suspect, r.timeout, r.retries, r.owner, r.tags, r.parent_id, r.batch_id, r.expires_at,
  r.traceparent, r.schedule, r.tick_at, r.created_at, r.cancelled_at, r.logged, r.unique_scope
from (select (e.v ->> 0)::bigint as id from jsonb_array_elements($1::text::jsonb) as e (v)) v
join punctual_runs r on r.id = v.id;

-- Copies the runs to history.
-- $1 = 4, $2 = 1767225661000, $3 = 1767225722000, $4 = null, $5 = '{"name":"Error","message":"crashed"}'
-- $6 = 'crashed', $7 = null, $8 = null, $9 = '[[1]]'
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
-- $1 = '[[1]]'
delete from punctual_runs
where id in (select v.id from (select (e.v ->> 0)::bigint as id from jsonb_array_elements($1::text::jsonb) as e (v)) v);

-- Again: Commits.
