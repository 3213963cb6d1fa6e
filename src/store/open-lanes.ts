/**
 * Lanes of a queue in which one claim looks for runs without the limit hint at most. Beyond them the claim reads the
 * queue in order and skips the runs of closed jobs one by one.
 */
export const MOST_LANES = 64;

/**
 * Returns the lanes in which a claim looks if these jobs are closed to it. `lanes` are the first of the queue, one more
 * than `MOST_LANES` if it has that many. Null: the claim reads the queue in order, because no lane is closed or there
 * are too many.
 */
export function openLanes<Lane extends { lane: string }>(lanes: Lane[], closed: Set<string>): Lane[] | null {
  if (lanes.length > MOST_LANES) return null;
  // A lane without a bar belongs to one job. Other lanes may be shared: `a|b` is the job "a|b", or "a" with the key "b".
  const open = lanes.filter(({ lane }) => lane.includes("|") || !closed.has(lane));
  return open.length === lanes.length ? null : open;
}
