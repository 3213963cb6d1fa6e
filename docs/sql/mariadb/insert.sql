-- What MariaDB receives when dispatches are inserted.
-- Written by test/docs/sql.test.ts with UPDATE_DOCS=1. See docs/sql/README.md.

-- ## Two runs of a job; the second one is due in a minute.

-- Reads former names of jobs; the store keeps them for a second.
select name, job from punctual_aliases;

-- Looks for the rows of the jobs, at most once a second for each. A job without a row gets one.
-- ?1 = '[["email"]]'
select r.name
from json_table(?, '$[*]' columns (job longtext character set utf8mb4 collate utf8mb4_nopad_bin path '$[0]' error on error)) v
straight_join punctual_jobs r force index (primary) on r.name = v.job;

-- Again: Reads former names of jobs; the store keeps them for a second.

-- Inserts the row of a job that no worker has defined yet.
-- ?1 = 'email', ?2 = 'default', ?3 = 100, ?4 = 0, ?5 = 0, ?6 = '', ?7 = 0, ?8 = 1767225600000
insert into punctual_jobs (name, queue, priority, lim, key_lim, fingerprint, defined_at, created_at)
values (?, ?, ?, ?, ?, ?, ?, ?) on duplicate key update name = punctual_jobs.name;

-- Reads the highest id: after a failover, reserved ids may be too low.
select max(id) as id
from (select max(id) as id from punctual_runs union all select max(id) from punctual_history) as both_tables;

-- Asks which variables identify the server.
show variables where variable_name in ('wsrep_on', 'group_replication_group_name');

-- Reserves ids for the new runs.
-- ?1 = 0, ?2 = 2
update punctual_ids
set next = last_insert_id(
    greatest(next, ?) + ? + if(mark in ('', if(@@global.wsrep_on, 'wsrep', cast(@@server_id as char))), 0, 1000000)
  ),
  mark = if(@@global.wsrep_on, 'wsrep', cast(@@server_id as char))
where id = 1;

-- Sets the isolation level of the next transaction.
set transaction isolation level read committed;

-- Begins the transaction.
start transaction;

-- Writes a receipt, by which the store knows later whether the insert was committed.
-- ?1 = 1, ?2 = 1767225600000, ?3 = 123456789
insert into punctual_receipts (id, created_at, nonce) values (?, ?, ?);

-- Inserts runs; the limit hint (`limited`) comes from the rows of jobs and queues.
-- ?1 = 'email', ?2 = 'default', ?3 = 'email', ?4 = 100, ?5 = 1767225600000, ?6 = 'email', ?7 = 'default'
-- ?8 = '[[1,"[\"ada\"]",1767225600000,1],[2,"[\"bob\"]",1767225660000,0]]'
insert into punctual_runs (id, args, name, queue, lane, priority, run_at, state, created_at, limited)
select v.id, v.args, ?, ?, ?, ?, v.run_at, v.state, ?,
  case when (
    exists (
        select 1
        from punctual_jobs j
        where j.name = ? and (j.lim > 0 or j.key_lim > 0 or j.paused_at is not null)
      )
      or exists (select 1 from punctual_queues q where q.name = ? and q.lim > 0)
  ) then 1 else 0 end
from json_table(
  ?,
    '$[*]' columns (
      id bigint path '$[0]' error on error,
        args longtext character set utf8mb4 collate utf8mb4_nopad_bin path '$[1]' error on error,
        run_at bigint path '$[2]' error on error, state bigint path '$[3]' error on error
    )
) v;

-- Commits.
commit;

-- ## A run with a unique key.

-- Again: Looks for the rows of the jobs, at most once a second for each. A job without a row gets one.

-- Again: Reads former names of jobs; the store keeps them for a second.

-- Again: Inserts the row of a job that no worker has defined yet.

-- Again: Reserves ids for the new runs.

-- Again: Sets the isolation level of the next transaction.

-- Again: Begins the transaction.

-- Writes a receipt, by which the store knows later whether the insert was committed.
insert into punctual_receipts (id, created_at, nonce) values (3, 1767225600000, 123456789);

-- Reads unfinished runs that hold the unique keys.
-- ?1 = 'report|2026-01'
select unique_key, id, unique_scope, unique_until
from punctual_runs force index (punctual_runs_unique)
where unique_key in (?);

-- Reads finished runs whose windows still hold the unique keys.
-- ?1 = 'report|2026-01', ?2 = 1767225600000
select unique_key, id
from punctual_history force index (punctual_history_unique)
where unique_key in (?) and unique_until > ?
order by unique_until;

-- Inserts runs; the limit hint (`limited`) comes from the rows of jobs and queues.
-- ?1 = 3, ?2 = 'report', ?3 = 'default', ?4 = 'report', ?5 = 100, ?6 = 1767225600000, ?7 = 1
-- ?8 = 'report|2026-01', ?9 = 2, ?10 = 1767225600000, ?11 = 'report', ?12 = 'default'
insert into punctual_runs (id, name, queue, lane, priority, run_at, state, unique_key, unique_scope, created_at, limited)
select ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
  case when (
    exists (
        select 1
        from punctual_jobs j
        where j.name = ? and (j.lim > 0 or j.key_lim > 0 or j.paused_at is not null)
      )
      or exists (select 1 from punctual_queues q where q.name = ? and q.lim > 0)
  ) then 1 else 0 end;

-- Again: Reads unfinished runs that hold the unique keys.

-- Again: Reads finished runs whose windows still hold the unique keys.

-- Again: Commits.
