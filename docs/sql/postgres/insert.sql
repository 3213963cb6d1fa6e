-- What PostgreSQL receives when dispatches are inserted.
-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.

-- ## Two runs of a job; the second one is due in a minute.

-- Reads former names of jobs; the store keeps them for a second.
select name, job from punctual_aliases;

-- Looks for the rows of the jobs, at most once a second for each. A job without a row gets one.
-- $1 = '[["email"]]'
select r.name
from (select e.v ->> 0 as job from jsonb_array_elements($1::text::jsonb) as e (v)) v
join punctual_jobs r on r.name = v.job;

-- Again: Reads former names of jobs; the store keeps them for a second.

-- Inserts the row of a job that no worker has defined yet.
-- $1 = 'email', $2 = 'default', $3 = 100, $4 = 0, $5 = 0, $6 = '', $7 = 0, $8 = 1767225600000
insert into punctual_jobs (name, queue, priority, lim, key_lim, fingerprint, defined_at, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (name) do nothing;

-- Reads the highest id: after a failover, reserved ids may be too low.
select max(id) as id
from (select max(id) as id from punctual_runs union all select max(id) from punctual_history) as both_tables;

-- Asks whether this user may read the timeline of the server.
select has_function_privilege('pg_control_system()', 'execute')
  and has_function_privilege('pg_current_wal_lsn()', 'execute')
  and has_function_privilege('pg_walfile_name(pg_lsn)', 'execute') as may;

-- Records the timeline, and skips ids if it is new.
with moved as (
  update punctual_ids
  set timeline = case when pg_is_in_recovery()
    or to_regproc('aurora_version') is not null then null else (select cast(system_identifier as text) from pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) end
  where id = 1
    and timeline <> case when pg_is_in_recovery()
    or to_regproc('aurora_version') is not null then null else (select cast(system_identifier as text) from pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) end
  returning 1
)
select case when pg_is_in_recovery()
    or to_regproc('aurora_version') is not null then null else (select cast(system_identifier as text) from pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline,
  (select count(nextval('punctual_runs_id_seq')) from moved cross join generate_series(1, 1000000)) as skipped;

-- Reserves ids for the new runs.
-- $1 = 2
select nextval('punctual_runs_id_seq') as id,
  (
    select case when pg_is_in_recovery()
      or to_regproc('aurora_version') is not null then null else (select cast(system_identifier as text) from pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) end
  ) as timeline
from generate_series(1, $1);

-- Writes a receipt and inserts the runs; the limit hint comes from the rows of jobs and queues.
-- $1 = 1, $2 = 1767225600000, $3 = 123456789, $4 = 'email', $5 = 'default', $6 = 'email', $7 = 100
-- $8 = 1767225600000, $9 = 'email', $10 = 'default'
-- $11 = '[[1,"[\"ada\"]",1767225600000,1],[2,"[\"bob\"]",1767225660000,0]]'
with one as (insert into punctual_receipts (id, created_at, nonce) values ($1, $2, $3))
insert into punctual_runs (id, args, name, queue, lane, priority, run_at, state, created_at, limited)
select v.id, v.args, $4, $5, $6, $7, v.run_at, v.state, $8,
  case when (
    exists (
        select 1
        from punctual_jobs j
        where j.name = $9 and (j.lim > 0 or j.key_lim > 0 or j.paused_at is not null)
      )
      or exists (select 1 from punctual_queues q where q.name = $10 and q.lim > 0)
  ) then 1 else 0 end
from (
  select (e.v ->> 0)::bigint as id, e.v ->> 1 as args, (e.v ->> 2)::bigint as run_at,
    (e.v ->> 3)::bigint as state
  from jsonb_array_elements($11::text::jsonb) as e (v)
) v;

-- ## A run with a unique key.

-- Again: Looks for the rows of the jobs, at most once a second for each. A job without a row gets one.

-- Again: Reads former names of jobs; the store keeps them for a second.

-- Again: Inserts the row of a job that no worker has defined yet.

-- Again: Reserves ids for the new runs.

-- Begins the transaction and writes a receipt, by which the store knows later whether it was committed.
begin isolation level read committed; set local enable_seqscan = off; set local jit = off; set local idle_in_transaction_session_timeout = '10s';
insert into punctual_receipts (id, created_at, nonce)
values (3, 1767225600000, 123456789);

-- Reads unfinished runs that hold the unique keys.
-- $1 = 'report|2026-01'
select unique_key, id, unique_scope, unique_until from punctual_runs where unique_key in ($1);

-- Reads finished runs whose windows still hold the unique keys.
-- $1 = 'report|2026-01', $2 = 1767225600000
select unique_key, id
from punctual_history
where unique_key in ($1) and unique_until > $2
order by unique_until;

-- Inserts runs; the limit hint (`limited`) comes from the rows of jobs and queues.
-- $1 = 3, $2 = 'report', $3 = 'default', $4 = 'report', $5 = 100, $6 = 1767225600000, $7 = 1
-- $8 = 'report|2026-01', $9 = 2, $10 = 1767225600000, $11 = 'report', $12 = 'default'
insert into punctual_runs (id, name, queue, lane, priority, run_at, state, unique_key, unique_scope, created_at, limited)
select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
  case when (
    exists (
        select 1
        from punctual_jobs j
        where j.name = $11 and (j.lim > 0 or j.key_lim > 0 or j.paused_at is not null)
      )
      or exists (select 1 from punctual_queues q where q.name = $12 and q.lim > 0)
  ) then 1 else 0 end
on conflict (unique_key)
where unique_key is not null do nothing;

-- Again: Reads unfinished runs that hold the unique keys.

-- Again: Reads finished runs whose windows still hold the unique keys.

-- Commits.
commit;

-- ## In the background, after an insert.

-- Wakes idle workers. A notification needs no durable commit.
-- $1 = 'punctual_runs', $2 = '2'
select set_config('synchronous_commit', 'off', true), pg_notify(cast($1 as text), cast($2 as text));
