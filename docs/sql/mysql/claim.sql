-- What MySQL receives when a worker claims runs.
-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.

-- ## Nothing is ready: an idle worker.

-- Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.
-- ?1 = 1767225600000, ?2 = 'w1', ?3 = 'w1'
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

-- ## One run is ready; no limit holds it.

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Sets the isolation level of the next transaction.
set transaction isolation level read committed;

-- Begins the transaction.
start transaction;

-- Locks the row of the stream: a claim that is sent again waits for it.
-- ?1 = 'w1', ?2 = 0
select seq from punctual_exchanges where worker = ? and stream = ? for update;

-- Reads the first ready runs of a queue without limits.
-- ?1 = 'default', ?2 = 'default', ?3 = '2'
select id, name, queue, lane, limited, priority, run_at, args, attempts, crashes, uncounted, suspect,
  timeout, retries, owner, tags, parent_id, batch_id, expires_at, traceparent, schedule, tick_at, created_at,
  cancelled_at, logged, unique_scope,
  case when (
    exists (
        select 1
        from punctual_jobs j
        where j.name = r.name and (j.lim > 0 or j.key_lim > 0 or j.paused_at is not null)
      )
      or exists (select 1 from punctual_queues q where q.name = ? and q.lim > 0)
  ) then 1 else 0 end as bound
from punctual_runs r force index (punctual_runs_ready)
where state = 1 and limited = 0 and owner is null and queue = ?
order by priority, run_at, id
limit ?
for update skip locked;

-- Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.
-- ?1 = 'token-2', ?2 = 'w1', ?3 = 1767225660000, ?4 = 1767225600000, ?5 = 1
update punctual_runs r force index (primary)
set r.state = 2, r.attempts = r.attempts + 1, r.lease_token = ?, r.locked_by = ?, r.locked_until = ?,
  r.started_at = ?
where r.id in (?);

-- Commits.
commit;

-- ## A run was announced to an idle worker.

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Sets the isolation level of the next transaction.

-- Again: Begins the transaction.

-- Again: Locks the row of the stream: a claim that is sent again waits for it.

-- Again: Reads the first ready runs of a queue without limits.

-- Again: Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.

-- Again: Commits.

-- ## One run is ready, under limits of its job, its key and its queue.

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Sets the isolation level of the next transaction.

-- Again: Begins the transaction.

-- Again: Locks the row of the stream: a claim that is sent again waits for it.

-- Reads the first runs under limits of each queue (the window).
-- ?1 = 'slow'
select id, name, lane, queue, priority, run_at, cost
from punctual_runs force index (punctual_runs_ready)
where state = 1 and limited = 1 and owner is null and queue = ?
order by priority, run_at, id
limit 64;

-- Reads the limits of these jobs and queues, and how many runs run under each.
-- ?1 = '[["report"]]', ?2 = '[["slow"]]', ?3 = '[["report"]]', ?4 = '[["slow"]]'
select 'job' as kind, r.name, '' as lane, r.lim as number, r.key_lim as key_limit, '' as chain
from (
  select *
  from json_table(
    ?,
      '$[*]' columns (name longtext character set utf8mb4 collate utf8mb4_0900_bin path '$[0]' error on error)
  ) j
) v
straight_join punctual_jobs r force index (primary) on r.name = v.name
union all
select 'queue', r.name, '', r.lim, case when r.rate is null then 0 else 1 end, ''
from (
  select *
  from json_table(
    ?,
      '$[*]' columns (name longtext character set utf8mb4 collate utf8mb4_0900_bin path '$[0]' error on error)
  ) j
) v
straight_join punctual_queues r force index (primary) on r.name = v.name
union all
select 'running', r.name, r.lane, count(*), 0,
  case when r.lease_token like '%.%' then r.lease_token else '' end
from (
  select r.name
  from (
    select *
    from json_table(
      ?,
        '$[*]' columns (name longtext character set utf8mb4 collate utf8mb4_0900_bin path '$[0]' error on error)
    ) j
  ) v
  straight_join punctual_jobs r force index (primary) on r.name = v.name
  where r.lim > 0 or r.key_lim > 0
) v
straight_join punctual_runs r force index (punctual_runs_counted) on r.state = 2
  and r.owner is null
  and r.name = v.name
group by r.name, r.lane, case when r.lease_token like '%.%' then r.lease_token else '' end
union all
select 'busy', r.queue, '', count(*), 0, case when r.lease_token like '%.%' then r.lease_token else '' end
from (
  select r.name, l.limited
  from (
    select *
    from json_table(
      ?,
        '$[*]' columns (name longtext character set utf8mb4 collate utf8mb4_0900_bin path '$[0]' error on error)
    ) j
  ) v
  straight_join punctual_queues r force index (primary) on r.name = v.name
  cross join (select 0 as limited union all select 1) l
  where r.lim > 0
) v
straight_join punctual_runs r force index (punctual_runs_ready) on r.state = 2
  and r.limited = v.limited
  and r.owner is null
  and r.queue = v.name
group by r.queue, case when r.lease_token like '%.%' then r.lease_token else '' end;

-- Locks the gates of the limits, except those that other claims hold.
-- ?1 = 235, ?2 = 90, ?3 = 163
select id from punctual_gates where id in (?, ?, ?) order by id for update skip locked;

-- Again: Reads the limits of these jobs and queues, and how many runs run under each.

-- Locks and reads the chosen runs that are still ready.
-- ?1 = '[[3]]'
select r.id, r.name, r.queue, r.lane, r.limited, r.priority, r.run_at, r.args, r.attempts, r.crashes,
  r.uncounted, r.suspect, r.timeout, r.retries, r.owner, r.tags, r.parent_id, r.batch_id, r.expires_at,
  r.traceparent, r.schedule, r.tick_at, r.created_at, r.cancelled_at, r.logged, r.unique_scope
from (select * from json_table(?, '$[*]' columns (id bigint path '$[0]' error on error)) j) v
straight_join punctual_runs r force index (primary) on r.id = v.id
where r.state = 1
for update of r skip locked;

-- Again: Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.

-- Again: Commits.

-- ## A scheduled run has become due.

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Sets the isolation level of the next transaction.

-- Again: Begins the transaction.

-- Again: Locks the row of the stream: a claim that is sent again waits for it.

-- Locks scheduled runs that are due.
-- ?1 = 1767225660000
select id
from punctual_runs force index (punctual_runs_scheduled)
where state = 0 and run_at <= ?
order by run_at, id
limit 1000
for update skip locked;

-- Turns scheduled runs that are due into ready ones.
-- ?1 = 4
update punctual_runs r force index (primary) set r.state = 1 where r.id in (?);

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Reads the first ready runs of a queue without limits.

-- Again: Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.

-- Again: Commits.

-- ## A run waits behind 70 runs of a key that is at its limit: the claim walks the lanes.

-- Again: Reads the facts: paused jobs and queues, queues with ready runs, cancellations, the next due time, the clock.

-- Again: Sets the isolation level of the next transaction.

-- Again: Begins the transaction.

-- Again: Locks the row of the stream: a claim that is sent again waits for it.

-- Again: Reads the first runs under limits of each queue (the window).

-- Again: Reads the limits of these jobs and queues, and how many runs run under each.

-- Reads the next lanes of the queue that have ready runs.
-- ?1 = -2147483648, ?2 = 'slow', ?3 = -2147483648, ?4 = '', ?5 = -2147483648, ?6 = 'slow', ?7 = -2147483648
-- ?8 = 'slow', ?9 = -2147483648, ?10 = '', ?11 = -2147483648, ?12 = 'slow', ?13 = -2147483648, ?14 = 'slow'
-- ?15 = -2147483648, ?16 = 'slow', ?17 = -2147483648, ?18 = '', ?19 = 'slow', ?20 = -2147483648, ?21 = 'slow'
-- ?22 = -2147483648, ?23 = 'slow', ?24 = -2147483648, ?25 = 'slow', ?26 = -2147483648, ?27 = '', ?28 = '64'
-- ?29 = 'slow', ?30 = -2147483648, ?31 = 'slow', ?32 = 'slow', ?33 = -2147483648, ?34 = 'slow'
-- ?35 = -2147483648, ?36 = 'slow', ?37 = 'slow', ?38 = -2147483648, ?39 = 'slow', ?40 = 'slow'
-- ?41 = -2147483648, ?42 = 'slow', ?43 = -2147483648, ?44 = 'slow', ?45 = 'slow', ?46 = -2147483648
-- ?47 = 'slow', ?48 = 'slow', ?49 = -2147483648, ?50 = 'slow', ?51 = 'slow', ?52 = -2147483648, ?53 = 'slow'
-- ?54 = 'slow', ?55 = -2147483648, ?56 = 'slow', ?57 = 'slow', ?58 = -2147483648, ?59 = 'slow', ?60 = 'slow'
-- ?61 = -2147483648, ?62 = 'slow', ?63 = 'slow', ?64 = -2147483648, ?65 = '64', ?66 = 'slow', ?67 = 'slow'
-- ?68 = 'slow', ?69 = -2147483648, ?70 = '64', ?71 = '64'
select priority, lane
from (
  select ? as priority, lane
  from (
    select min(lane) as lane
    from punctual_runs force index (punctual_runs_lanes)
    where state = 1 and limited = 1 and queue = ? and priority = ? and lane > ?
  ) next_one
  where lane is not null
  union all
  select ? as priority, lane
  from (
    select min(lane) as lane
    from punctual_runs force index (punctual_runs_lanes)
    where state = 1
      and limited = 1
      and queue = ?
      and priority = ?
      and lane > (
        select min(lane) as lane
        from punctual_runs force index (punctual_runs_lanes)
        where state = 1 and limited = 1 and queue = ? and priority = ? and lane > ?
      )
  ) next_one
  where lane is not null
  union all
  select ? as priority, lane
  from (
    select min(lane) as lane
    from punctual_runs force index (punctual_runs_lanes)
    where state = 1
      and limited = 1
      and queue = ?
      and priority = ?
      and lane > (
        select min(lane) as lane
        from punctual_runs force index (punctual_runs_lanes)
        where state = 1
          and limited = 1
          and queue = ?
          and priority = ?
          and lane > (
            select min(lane) as lane
            from punctual_runs force index (punctual_runs_lanes)
            where state = 1 and limited = 1 and queue = ? and priority = ? and lane > ?
          )
      )
  ) next_one
  where lane is not null
  union all
  select priority, lane
  from (
    select distinct state, limited, queue, priority, lane
    from punctual_runs force index (punctual_runs_lanes)
    where state = 1
      and limited = 1
      and queue = ?
      and priority = ?
      and lane > (
        select min(lane) as lane
        from punctual_runs force index (punctual_runs_lanes)
        where state = 1
          and limited = 1
          and queue = ?
          and priority = ?
          and lane > (
            select min(lane) as lane
            from punctual_runs force index (punctual_runs_lanes)
            where state = 1
              and limited = 1
              and queue = ?
              and priority = ?
              and lane > (
                select min(lane) as lane
                from punctual_runs force index (punctual_runs_lanes)
                where state = 1 and limited = 1 and queue = ? and priority = ? and lane > ?
              )
          )
      )
    limit ?
  ) rest
  union all
  select (
      select min(priority)
      from punctual_runs force index (punctual_runs_lanes)
      where state = 1 and limited = 1 and queue = ? and priority > ?
    ) as priority,
    lane
  from (
    select min(lane) as lane
    from punctual_runs force index (punctual_runs_lanes)
    where state = 1
      and limited = 1
      and queue = ?
      and priority = (
        select min(priority)
        from punctual_runs force index (punctual_runs_lanes)
        where state = 1 and limited = 1 and queue = ? and priority > ?
      )
  ) next_one
  where lane is not null
  union all
  select (
      select min(priority)
      from punctual_runs force index (punctual_runs_lanes)
      where state = 1 and limited = 1 and queue = ? and priority > ?
    ) as priority,
    lane
  from (
    select min(lane) as lane
    from punctual_runs force index (punctual_runs_lanes)
    where state = 1
      and limited = 1
      and queue = ?
      and priority = (
        select min(priority)
        from punctual_runs force index (punctual_runs_lanes)
        where state = 1 and limited = 1 and queue = ? and priority > ?
      )
      and lane > (
        select min(lane) as lane
        from punctual_runs force index (punctual_runs_lanes)
        where state = 1
          and limited = 1
          and queue = ?
          and priority = (
            select min(priority)
            from punctual_runs force index (punctual_runs_lanes)
            where state = 1 and limited = 1 and queue = ? and priority > ?
          )
      )
  ) next_one
  where lane is not null
  union all
  select (
      select min(priority)
      from punctual_runs force index (punctual_runs_lanes)
      where state = 1 and limited = 1 and queue = ? and priority > ?
    ) as priority,
    lane
  from (
    select min(lane) as lane
    from punctual_runs force index (punctual_runs_lanes)
    where state = 1
      and limited = 1
      and queue = ?
      and priority = (
        select min(priority)
        from punctual_runs force index (punctual_runs_lanes)
        where state = 1 and limited = 1 and queue = ? and priority > ?
      )
      and lane > (
        select min(lane) as lane
        from punctual_runs force index (punctual_runs_lanes)
        where state = 1
          and limited = 1
          and queue = ?
          and priority = (
            select min(priority)
            from punctual_runs force index (punctual_runs_lanes)
            where state = 1 and limited = 1 and queue = ? and priority > ?
          )
          and lane > (
            select min(lane) as lane
            from punctual_runs force index (punctual_runs_lanes)
            where state = 1
              and limited = 1
              and queue = ?
              and priority = (
                select min(priority)
                from punctual_runs force index (punctual_runs_lanes)
                where state = 1 and limited = 1 and queue = ? and priority > ?
              )
          )
      )
  ) next_one
  where lane is not null
  union all
  select priority, lane
  from (
    select distinct state, limited, queue, priority, lane
    from punctual_runs force index (punctual_runs_lanes)
    where state = 1
      and limited = 1
      and queue = ?
      and priority = (
        select min(priority)
        from punctual_runs force index (punctual_runs_lanes)
        where state = 1 and limited = 1 and queue = ? and priority > ?
      )
      and lane > (
        select min(lane) as lane
        from punctual_runs force index (punctual_runs_lanes)
        where state = 1
          and limited = 1
          and queue = ?
          and priority = (
            select min(priority)
            from punctual_runs force index (punctual_runs_lanes)
            where state = 1 and limited = 1 and queue = ? and priority > ?
          )
          and lane > (
            select min(lane) as lane
            from punctual_runs force index (punctual_runs_lanes)
            where state = 1
              and limited = 1
              and queue = ?
              and priority = (
                select min(priority)
                from punctual_runs force index (punctual_runs_lanes)
                where state = 1 and limited = 1 and queue = ? and priority > ?
              )
              and lane > (
                select min(lane) as lane
                from punctual_runs force index (punctual_runs_lanes)
                where state = 1
                  and limited = 1
                  and queue = ?
                  and priority = (
                    select min(priority)
                    from punctual_runs force index (punctual_runs_lanes)
                    where state = 1 and limited = 1 and queue = ? and priority > ?
                  )
              )
          )
      )
    limit ?
  ) rest
  union all
  select priority, lane
  from (
    select distinct state, limited, queue, priority, lane
    from punctual_runs force index (punctual_runs_lanes)
    where state = 1
      and limited = 1
      and queue = ?
      and priority >= (
        select min(priority)
        from punctual_runs force index (punctual_runs_lanes)
        where state = 1
          and limited = 1
          and queue = ?
          and priority > (
            select min(priority)
            from punctual_runs force index (punctual_runs_lanes)
            where state = 1 and limited = 1 and queue = ? and priority > ?
          )
      )
    limit ?
  ) rest
) lanes
order by priority, lane
limit ?;

-- Reads the first runs of the lanes.
-- ?1 = 'slow', ?2 = 'report|bob', ?3 = '2'
select id, name, lane, queue, priority, run_at, cost
from punctual_runs force index (punctual_runs_lanes)
where state = 1 and limited = 1 and owner is null and queue = ? and priority = 100 and lane = ?
order by run_at, id
limit ?;

-- Again: Reads the limits of these jobs and queues, and how many runs run under each.

-- Again: Locks the gates of the limits, except those that other claims hold.

-- Again: Reads the limits of these jobs and queues, and how many runs run under each.

-- Again: Locks and reads the chosen runs that are still ready.

-- Again: Takes the runs: state running, attempt + 1, lease token, worker, end of the lease.

-- Again: Commits.
