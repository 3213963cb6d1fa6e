import type { Inspection } from "../../../store/maintenance.ts";
import { grouped, span } from "../../render/formats.ts";
import { type Finding, warning } from "../../views/finding.ts";

/** Fewer dead rows do not slow claims down: autovacuum removes ours from 2,000 on, about once a minute. */
const MANY_DEAD = 10_000;

/** Time without a vacuum after which autovacuum does not keep up: it checks every table once a minute. */
const STARVED = 5 * 60_000;

/** Longest time that a transaction of a web application or a handler should be open. */
const LONG = 30 * 60_000;

/** Warns about dead rows that PostgreSQL does not remove, because every claim reads past them, and about the cause. */
export function upkeep({ vacuum, now }: Inspection): Finding[] {
  if (!vacuum) return [];
  const { oldest } = vacuum;
  const open = oldest ? now - oldest.since : 0;
  const blocking = oldest && open > STARVED ? oldest : null;
  const dead = vacuum.tables.flatMap(({ name, live, dead: rows, vacuumedAt, enabled }) => {
    const idle = vacuumedAt === null ? Number.POSITIVE_INFINITY : now - vacuumedAt;
    const isKept = vacuum.enabled && enabled && idle < STARVED && !blocking;
    if (rows < MANY_DEAD || rows < live || isKept) return [];
    const last = vacuumedAt === null ? "it was never vacuumed" : `the last vacuum was ${span(idle)} ago`;
    const text = `${name} has ${grouped(rows)} dead rows beside ${grouped(live)} live ones, and ${last}`;
    return [warning(enabled ? text : `${text}: autovacuum is off`, cureFor(name, enabled, vacuum, blocking))];
  });
  const findings = vacuum.enabled ? dead : [serverWideOff(), ...dead];
  const off = vacuum.tables.filter(({ enabled }) => !enabled);
  if (findings.length === 0 && off.length > 0)
    findings.push(
      warning(
        `autovacuum is off for ${off.length === 1 ? off[0]!.name : `${off.length} tables`}`,
        cureFor(off[0]!.name, false, vacuum, null),
      ),
    );
  if (oldest && (open > LONG || (blocking && dead.length > 0))) {
    findings.push(
      warning(
        `a transaction of ${oldest.program} (pid ${oldest.pid}) has been open for ${span(open)}, and no row that died since can be removed`,
        `end it: select pg_terminate_backend(${oldest.pid})`,
      ),
    );
  }
  return findings;
}

function serverWideOff(): Finding {
  return warning(
    "autovacuum is off on the whole server: dead rows stay in every table",
    "alter system set autovacuum = on; select pg_reload_conf()",
  );
}

function cureFor(
  table: string,
  enabled: boolean,
  server: { enabled: boolean },
  blocking: object | null,
): string {
  if (!enabled) return `alter table ${table} reset (autovacuum_enabled)`;
  if (blocking) return "end the old transaction (below)";
  return server.enabled ? `vacuum ${table}, and give autovacuum more workers` : `vacuum ${table}`;
}
