import type { Rotation } from "../../run/rotation.ts";
import type { Candidate } from "../chooser.ts";
import { candidateShares, type FairLanes, LaneList, laneShares, lanesToList } from "../fair-lanes.ts";
import { CANDIDATE_COLUMNS } from "../sql/claim.ts";
import type { SqlContext } from "../sql/context.ts";
import type { ServerDatabase, Statement } from "../sql/database.ts";
import { inLane, type LanePosition, START } from "./lane-walk.ts";
import type { ReadyWindow } from "./ready-windows.ts";
import { readTogether } from "./round-trips.ts";

/** Lists the lanes of a fair queue in which a claim looks, in turn (note 59). */
async function listLanes(
  tx: SqlContext<ServerDatabase>,
  index: { queue: string; limited: 0 | 1 },
  rotation: Rotation,
  wanted: number,
): Promise<FairLanes> {
  const { db, t } = tx;
  const most = lanesToList(wanted);
  const read = ({ priority, lane }: LanePosition) => {
    const { text, params } = db.readyLanes(t, index, { priority, lane }, most);
    return tx.all<LanePosition>(text, ...params);
  };
  const list = new LaneList(rotation, index.queue, await read(START), most);
  return list.join(list.missing ? await read(list.missing) : []);
}

/** Returns the windows of the lanes of fair queues, without rows. Those with `isFirst` are read first. */
export async function fairWindows(
  tx: SqlContext<ServerDatabase>,
  queues: string[],
  rotation: Rotation,
  limit: number,
): Promise<{ window: ReadyWindow; isFirst: boolean; isComplete: boolean }[]> {
  const lists = await Promise.all(
    queues.map((queue) => listLanes(tx, { queue, limited: 0 }, rotation, limit)),
  );
  return lists.flatMap((found) =>
    laneShares(rotation, found, limit).map(({ lane, runs, isFirst }) => ({
      window: { queue: found.queue, lane, rows: [], size: 0, first: runs },
      isFirst,
      isComplete: found.isComplete,
    })),
  );
}

/** The runs under limits that a claim looks for in fair queues. */
interface CandidateScope {
  rotation: Rotation;
  wanted: number;
  /** A condition of SQL. */
  claimable: string;
}

/** Of fair queues with lanes in which a claim has not looked, the last lane in which it has. */
export type LastLanes = Map<string, LanePosition>;

/** Reads the first runs under limits of the lanes of fair queues. */
export async function fairCandidates(
  tx: SqlContext<ServerDatabase>,
  queues: string[],
  scope: CandidateScope,
  lastLanes: LastLanes,
): Promise<Candidate[]> {
  const candidates = queues.map(async (queue) => {
    const found = await listLanes(tx, { queue, limited: 1 }, scope.rotation, scope.wanted);
    const last = found.lanes.at(-1);
    if (!found.isComplete && last) lastLanes.set(queue, last);
    return readCandidates(tx, found, scope);
  });
  return (await Promise.all(candidates)).flat();
}

/** Lets the next claim look behind lanes that are all blocked. */
export function passBlocked(
  lastLanes: LastLanes,
  rotation: Rotation | null,
  isOpen: (queue: string) => boolean,
): void {
  for (const [queue, last] of lastLanes) if (!isOpen(queue)) rotation?.pass({ queue, ...last });
}

async function readCandidates(
  tx: SqlContext<ServerDatabase>,
  found: FairLanes,
  { rotation, wanted, claimable }: CandidateScope,
): Promise<Candidate[]> {
  const { db, t } = tx;
  const selects = candidateShares(rotation, found, wanted).map(
    ({ lane, runs }): Statement => ({
      text: `select ${CANDIDATE_COLUMNS} from ${t.runs}${db.using(t.runs, "lanes")}
              where state = 1 and limited = 1 and owner is null and queue = ?${inLane(lane).text}${claimable}
              order by run_at, id limit ?`,
      params: [found.queue, ...inLane(lane).params, runs],
    }),
  );
  return selects.length > 0 ? readTogether<Candidate>(tx, db, selects) : [];
}
