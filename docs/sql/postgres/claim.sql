-- What PostgreSQL receives when a worker claims runs.
-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.

-- ## Nothing is ready: an idle worker.

-- Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.
-- $1 = 1767225600000, $2 = 'w1', $3 = 'w1'
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

-- ## One run is ready; no limit holds it.

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Begins the transaction.
begin isolation level read committed; set local enable_seqscan = off; set local jit = off; set local idle_in_transaction_session_timeout = '10s';

-- Locks the row of the stream: a claim that is sent again waits for it.
-- $1 = 'w1', $2 = 0
select seq from punctual_exchanges where worker = $1 and stream = $2 for update;

-- Reads the first ready runs of a queue without limits.
-- $1 = 'default', $2 = 'default', $3 = 2
select id, name, queue, lane, limited, priority, run_at, args, attempts, crashes, uncounted, suspect,
  timeout, retries, owner, tags, parent_id, batch_id, expires_at, traceparent, schedule, tick_at, created_at,
  cancelled_at, logged, unique_scope,
  case when (
    exists (
        select 1
        from punctual_jobs j
        where j.name = r.name and (j.lim > 0 or j.key_lim > 0 or j.paused_at is not null)
      )
      or exists (select 1 from punctual_queues q where q.name = $1 and q.lim > 0)
  ) then 1 else 0 end as bound
from punctual_runs r
where state = 1 and limited = 0 and owner is null and queue = $2
order by priority, run_at, id
limit $3
for update skip locked;

-- Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.
-- $1 = 'token-2', $2 = 'w1', $3 = 1767225660000, $4 = 1767225600000, $5 = '{1}'
update punctual_runs as r
set state = 2, attempts = r.attempts + 1, lease_token = $1, locked_by = $2, locked_until = $3, started_at = $4
where r.id = any($5::text::bigint[]);

-- Commits.
commit;

-- ## A run was announced to an idle worker.

-- Again: Begins the transaction.

-- Takes the first ready runs that no limit and no pause holds, unless the stream has gone on.
-- $1 = 1767225600000, $2 = 'default', $3 = 1767225600000, $4 = 100, $5 = 'w1', $6 = 0, $7 = 2, $8 = 'token-6'
-- $9 = 'w1', $10 = 60000
with clock as materialized (select cast($1 as bigint) as now),
  found as materialized (
    select r.id
    from punctual_runs r
    where r.id = any(
        array(
          select f.id
          from (
            (
              select id, name, queue, priority, run_at
              from punctual_runs
              where state = 1 and limited = 0 and owner is null and queue = $2 and crashes = 0
              order by priority, run_at, id
              limit 64
            )
          ) f
          where case when (
              exists (
                  select 1
                  from punctual_jobs j
                  where j.name = f.name and (j.lim > 0 or j.key_lim > 0 or j.paused_at is not null)
                )
                or exists (select 1 from punctual_queues q where q.name = f.queue and q.lim > 0)
            ) then 1 else 0 end = 0
            and not exists (
              select 1
              from punctual_queues q
              where q.name = f.queue
                and q.paused_at is not null
                and (q.paused_until is null or q.paused_until > $3)
            )
          order by f.priority, f.run_at, f.id
          limit $4
        )
      )
      and r.state = 1
      and r.limited = 0
    for update skip locked
  ),
  stream as materialized (
    select seq
    from punctual_exchanges
    where worker = $5 and stream = $6 and seq < $7 and exists (select 1 from found)
    for update
  ) update punctual_runs as r
set state = 2, attempts = r.attempts + 1, lease_token = $8, locked_by = $9, locked_until = clock.now + $10,
  started_at = clock.now,
  unique_key = case when unique_scope = 1
    and coalesce(unique_until, 0) <= clock.now then null else unique_key end,
  unique_scope = case when unique_scope = 1 then 0 else unique_scope end
from clock
where r.id = any(array(select id from found where exists (select 1 from stream)))
returning r.id, r.name, r.queue, r.lane, r.limited, r.priority, r.run_at, r.args, r.attempts, r.crashes,
  r.uncounted, r.suspect, r.timeout, r.retries, r.owner, r.tags, r.parent_id, r.batch_id, r.expires_at,
  r.traceparent, r.schedule, r.tick_at, r.created_at, r.cancelled_at, r.logged, r.unique_scope, r.started_at;

-- Again: Commits.

-- ## One run is ready, under limits of its job, its key and its queue.

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Begins the transaction.

-- Again: Locks the row of the stream: a claim that is sent again waits for it.

-- Reads the first runs under limits of each queue (the window).
-- $1 = 'slow'
select id, name, lane, queue, priority, run_at, cost
from punctual_runs
where state = 1 and limited = 1 and owner is null and queue = $1
order by priority, run_at, id
limit 64;

-- Reads the limits of these jobs and queues, and how many runs run under each.
-- $1 = '[["report"]]', $2 = '[["slow"]]', $3 = '[["report"]]', $4 = '[["slow"]]'
select 'job' as kind, r.name, '' as lane, r.lim as number, r.key_lim as key_limit, '' as chain
from (select e.v ->> 0 as name from jsonb_array_elements($1::text::jsonb) as e (v)) v
join punctual_jobs r on r.name = v.name
union all
select 'queue', r.name, '', r.lim, case when r.rate is null then 0 else 1 end, ''
from (select e.v ->> 0 as name from jsonb_array_elements($2::text::jsonb) as e (v)) v
join punctual_queues r on r.name = v.name
union all
select 'running', r.name, r.lane, count(*), 0,
  case when r.lease_token like '%.%' then r.lease_token else '' end
from (
  select r.name
  from (select e.v ->> 0 as name from jsonb_array_elements($3::text::jsonb) as e (v)) v
  join punctual_jobs r on r.name = v.name
  where r.lim > 0 or r.key_lim > 0
) v
join punctual_runs r on r.state = 2 and r.owner is null and r.name = v.name
group by r.name, r.lane, case when r.lease_token like '%.%' then r.lease_token else '' end
union all
select 'busy', r.queue, '', count(*), 0, case when r.lease_token like '%.%' then r.lease_token else '' end
from (
  select r.name, l.limited
  from (select e.v ->> 0 as name from jsonb_array_elements($4::text::jsonb) as e (v)) v
  join punctual_queues r on r.name = v.name
  cross join (select 0 as limited union all select 1) l
  where r.lim > 0
) v
join punctual_runs r on r.state = 2 and r.limited = v.limited and r.owner is null and r.queue = v.name
group by r.queue, case when r.lease_token like '%.%' then r.lease_token else '' end;

-- Locks the gates of the limits, except those that other claims hold.
-- $1 = 235, $2 = 90, $3 = 163
select id from punctual_gates where id in ($1, $2, $3) order by id for update skip locked;

-- Again: Reads the limits of these jobs and queues, and how many runs run under each.

-- Locks and reads the chosen runs that are still ready.
-- $1 = '[[3]]'
select r.id, r.name, r.queue, r.lane, r.limited, r.priority, r.run_at, r.args, r.attempts, r.crashes,
  r.uncounted, r.suspect, r.timeout, r.retries, r.owner, r.tags, r.parent_id, r.batch_id, r.expires_at,
  r.traceparent, r.schedule, r.tick_at, r.created_at, r.cancelled_at, r.logged, r.unique_scope
from (select (e.v ->> 0)::bigint as id from jsonb_array_elements($1::text::jsonb) as e (v)) v
join punctual_runs r on r.id = v.id
where r.state = 1
for update of r skip locked;

-- Again: Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.

-- Again: Commits.

-- ## A scheduled run has become due.

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Begins the transaction.

-- Again: Locks the row of the stream: a claim that is sent again waits for it.

-- Locks scheduled runs that are due.
-- $1 = 1767225660000
select id
from punctual_runs
where state = 0 and run_at <= $1
order by run_at, id
limit 1000
for update skip locked;

-- Turns scheduled runs that are due into ready ones.
-- $1 = '{4}'
update punctual_runs as r set state = 1 where r.id = any($1::text::bigint[]);

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Reads the first ready runs of a queue without limits.

-- Again: Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.

-- Again: Commits.

-- ## A run waits behind 70 runs of a key that is at its limit: the claim walks the lanes.

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Begins the transaction.

-- Again: Locks the row of the stream: a claim that is sent again waits for it.

-- Again: Reads the first runs under limits of each queue (the window).

-- Again: Reads the limits of these jobs and queues, and how many runs run under each.

-- Reads the next lanes of the queue that have ready runs.
-- $1 = 'slow', $2 = -2147483648, $3 = '', $4 = 'slow', $5 = 64
with recursive heads as (
  (
    select priority, lane, 1 as n
    from (
      select priority, lane
      from punctual_runs
      where state = 1 and limited = 1 and owner is null and queue = $1 and (priority, lane) > ($2, $3)
      order by priority, lane
      limit 1
    ) first
  )
  union all
  select next.priority, next.lane, heads.n + 1
  from heads
  cross join lateral (
    select priority, lane
    from punctual_runs
    where state = 1
      and limited = 1
      and owner is null
      and queue = $4
      and (priority, lane) > (heads.priority, heads.lane)
    order by priority, lane
    limit 1
  ) next
  where heads.n < $5
)
select priority, lane
from heads;

-- Reads the first runs of the lanes.
-- $1 = 'slow', $2 = 'report|bob', $3 = 2
select id, name, lane, queue, priority, run_at, cost
from punctual_runs
where state = 1 and limited = 1 and owner is null and queue = $1 and priority = 100 and lane = $2
order by run_at, id
limit $3;

-- Again: Reads the limits of these jobs and queues, and how many runs run under each.

-- Again: Locks the gates of the limits, except those that other claims hold.

-- Again: Reads the limits of these jobs and queues, and how many runs run under each.

-- Again: Locks and reads the chosen runs that are still ready.

-- Again: Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.

-- Again: Commits.
