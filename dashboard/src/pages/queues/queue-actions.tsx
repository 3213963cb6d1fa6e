import { useSignal } from "@preact/signals";
import type { QueueView } from "../../../../src/dashboard/api/contract.ts";
import { request } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { PauseDialog } from "../../components/pause-dialog.tsx";
import { perform } from "../../components/perform.ts";
import { quoteForShell } from "../../query/command.ts";
import { may } from "../../state/meta.ts";
import { visibleText } from "../../text/visible.ts";

interface QueueActionsProps {
  queue: QueueView & { commands?: { pause: string } };
  refresh(): void;
  small?: boolean;
}

/** Pauses or resumes a queue. */
export function QueueActions({ queue, refresh, small = false }: QueueActionsProps) {
  const asked = useSignal(false);
  if (!may("operator")) return null;
  const { name } = queue;
  const resume = () => perform(request("POST /queues/:name/resume", { params: { name }, body: {} }), refresh);
  const look = small ? { small: true, kind: "plain" as const } : {};
  return (
    <>
      {queue.pause ? (
        <Button {...look} icon="play" onClick={resume}>
          Resume
        </Button>
      ) : (
        <Button
          {...look}
          icon="paused"
          onClick={() => {
            asked.value = true;
          }}
        >
          Pause…
        </Button>
      )}
      {asked.value && (
        <PauseDialog
          what={`queue ${visibleText(name)}`}
          command={queue.commands?.pause ?? `punctual pause queue ${quoteForShell(name)}`}
          timed
          pause={(body) => request("POST /queues/:name/pause", { params: { name }, body })}
          onDone={refresh}
          onClose={() => {
            asked.value = false;
          }}
        >
          Workers start nothing more from it. Running runs continue, and new runs wait.
        </PauseDialog>
      )}
    </>
  );
}
