import type { QueueView } from "../../../../src/dashboard/api/contract.ts";
import { request } from "../../api/client.ts";
import { PauseButton } from "../../components/pause-dialog.tsx";
import { quoteForShell } from "../../query/command.ts";
import { may } from "../../state/meta.ts";
import { visibleText } from "../../text/visible.ts";

interface QueueActionsProps {
  queue: QueueView;
  refresh(): void;
  small?: boolean;
}

/** Pauses or resumes a queue. */
export function QueueActions({ queue, refresh, small = false }: QueueActionsProps) {
  if (!may("operator")) return null;
  const { name } = queue;
  return (
    <PauseButton
      {...(small && { look: { small: true, kind: "plain" } })}
      paused={queue.pause !== null}
      what={`queue ${visibleText(name)}`}
      target={`queue ${quoteForShell(name)}`}
      timed
      send={(action, body) =>
        request(`POST /queues/:name/${action}` as "POST /queues/:name/pause", { params: { name }, body })
      }
      onDone={refresh}
    >
      Workers start nothing more from it. Running runs continue, and new runs wait.
    </PauseButton>
  );
}
