import type { QueueView } from "../../../../src/dashboard/api/contract.ts";
import { PauseState, StateBadge } from "../../components/state-badge.tsx";
import { waitingOf } from "../../text/waiting.ts";

/** The state of a queue: runs that wait without a worker are a problem. */
export function QueueState({ queue }: { queue: QueueView }) {
  const { workers, pause } = queue;
  if (pause === null && workers === 0 && waitingOf(queue).value > 0)
    return (
      <StateBadge tone="failed" label="no worker" title="Runs wait, and no live worker serves the queue" />
    );
  return <PauseState paused={pause !== null} />;
}
