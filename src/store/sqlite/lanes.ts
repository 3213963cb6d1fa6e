import type { Rotation } from "../../run/rotation.ts";
import type { Candidate } from "../chooser.ts";
import { type FairLanes, LaneList, lanesToList } from "../fair-lanes.ts";
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

/** Lists the lanes of a fair queue in which a claim looks, in turn (note 59). */
export function fairLanes(
  db: SqliteDatabase,
  t: Tables,
  place: { queue: string; limited: 0 | 1; claimable?: string; rotation: Rotation; wanted: number },
): FairLanes {
  const most = lanesToList(place.wanted);
  const read = (after: LanePosition | null) => {
    const lanes: LanePosition[] = [];
    while (lanes.length < most) {
      const next = laneAfter(db, t, place, lanes.at(-1) ?? after);
      if (!next) break;
      lanes.push({ priority: next.priority, lane: next.lane });
    }
    return lanes;
  };
  const list = new LaneList(place.rotation, place.queue, read(null), most);
  return list.join(list.missing ? read(list.missing) : []);
}
