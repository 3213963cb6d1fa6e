import type { Candidate } from "../chooser.ts";
import { CANDIDATE_COLUMNS } from "../sql/claim.ts";
import type { Tables } from "../sql/database.ts";
import type { SqliteDatabase } from "./database.ts";

export interface LanePosition {
  priority: number;
  lane: string;
}

/**
 * Returns the first ready run of the lane after `position`; null: of the first lane. `claimable` is a condition of SQL.
 * Two statements: with `(priority, lane) > (?, ?)` SQLite reads every run of the lane at that position.
 */
export function laneAfter(
  db: SqliteDatabase,
  t: Tables,
  { queue, limited, claimable = "" }: { queue: string; limited: 0 | 1; claimable?: string },
  position: LanePosition | null,
): Candidate | undefined {
  const first = (where: string, ...params: (string | number)[]) =>
    db.row<Candidate>(
      `select ${CANDIDATE_COLUMNS} from ${t.runs}
        where state = 1 and limited = ${limited} and owner is null and queue = ?${claimable} ${where}
        order by priority, lane, run_at, id limit 1`,
      queue,
      ...params,
    );
  if (!position) return first("");
  return (
    first("and priority = ? and lane > ?", position.priority, position.lane) ??
    first("and priority > ?", position.priority)
  );
}
