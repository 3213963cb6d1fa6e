import type { VacuumReport } from "../maintenance.ts";
import type { Sql, Tables } from "../sql/database.ts";

interface TableStatistics {
  name: string;
  live: number;
  dead: number;
  vacuumed: number | null;
  enabled: number;
  server_enabled: number;
}

/**
 * Reads how well autovacuum keeps up with our tables, and the oldest open transaction: vacuum cannot remove rows that
 * it may still see.
 */
export async function vacuumReport(sql: Sql, tables: Tables): Promise<VacuumReport> {
  const rows = await sql.all<TableStatistics>(
    `select c.relname as name, cast(s.n_live_tup as double precision) as live,
            cast(s.n_dead_tup as double precision) as dead,
            cast(extract(epoch from greatest(s.last_vacuum, s.last_autovacuum)) * 1000 as double precision) as vacuumed,
            case when current_setting('autovacuum') = 'off' then 0 else 1 end as server_enabled,
            case when exists (
              select 1 from pg_options_to_table(c.reloptions)
               where option_name = 'autovacuum_enabled' and option_value in ('false', 'off', 'no', '0'))
            then 0 else 1 end as enabled
       from pg_stat_user_tables s join pg_class c on c.oid = s.relid
      where c.relnamespace = (select relnamespace from pg_class where oid = to_regclass(cast(? as text)))
        and starts_with(c.relname, cast(? as text))
      order by c.relname`,
    tables.migrations,
    tables.prefix.slice(tables.prefix.lastIndexOf(".") + 1),
  );
  // xact_start is null for sessions of other users, unless this user has pg_read_all_stats.
  const [oldest] = await sql.all<{ pid: number; program: string; since: number }>(
    `select pid, coalesce(nullif(application_name, ''), usename, backend_type) as program,
            cast(extract(epoch from xact_start) * 1000 as double precision) as since
       from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_xmin is not null and xact_start is not null
      order by xact_start limit 1`,
  );
  return {
    enabled: rows.every((row) => row.server_enabled === 1),
    tables: rows.map(({ name, live, dead, vacuumed, enabled }) => ({
      name,
      live,
      dead,
      vacuumedAt: vacuumed === null ? null : Math.round(vacuumed),
      enabled: enabled === 1,
    })),
    oldest: oldest ? { pid: oldest.pid, program: oldest.program, since: Math.round(oldest.since) } : null,
  };
}
