import { MOST_LANES, openLanes } from "../open-lanes.ts";
import type { ServerDatabase, Sql, Statement, Tables } from "../sql/database.ts";
import { type LanePosition, START } from "./lane-walk.ts";
import { readTogether } from "./round-trips.ts";

/** A queue, or one lane of it, in which a claim looks for runs without the limit hint. */
export interface ClaimPlace {
  queue: string;
  lane: LanePosition | null;
}

/** Returns where a claim looks: in whole queues, except those with runs of closed jobs, which it reads by lane. */
export async function claimPlaces(
  { tx, db, t }: { tx: Sql; db: ServerDatabase; t: Tables },
  queues: string[],
  closed: Set<string>,
): Promise<ClaimPlace[]> {
  const whole = (queue: string): ClaimPlace => ({ queue, lane: null });
  if (closed.size === 0) return queues.map(whole);
  const selects = queues.map((queue) => {
    const { text, params } = db.readyLanes(t, { queue, limited: 0 }, START, MOST_LANES + 1);
    return {
      text: `select ${db.text} as queue, priority, lane from (${text}) l`,
      params: [queue, ...params],
    };
  });
  const found = await readTogether<LanePosition & { queue: string }>(tx, selects);
  const byQueue = Map.groupBy(found, ({ queue }) => queue);
  return queues.flatMap((queue) => {
    const lanes = openLanes(byQueue.get(queue) ?? [], closed);
    return lanes?.map((lane) => ({ queue, lane })) ?? whole(queue);
  });
}

/** The condition of a lane. */
export function inLane({ priority, lane }: LanePosition): Statement {
  return { text: " and priority = ? and lane = ?", params: [priority, lane] };
}
