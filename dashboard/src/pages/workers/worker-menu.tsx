import { useSignal } from "@preact/signals";
import type { PauseRequest, WorkerView } from "../../../../src/dashboard/api/contract.ts";
import { request } from "../../api/client.ts";
import { Menu, MenuItem } from "../../components/menu.tsx";
import { PauseDialog } from "../../components/pause-dialog.tsx";
import { perform } from "../../components/perform.ts";
import { may } from "../../state/meta.ts";
import { visibleText } from "../../text/visible.ts";

type RequestedAction = "Pause" | "Stop";

/** Pauses, resumes or stops a worker. A worker that was asked to stop cannot be asked for anything else. */
export function WorkerMenu({ worker, refresh }: { worker: WorkerView; refresh(): void }) {
  const asked = useSignal<RequestedAction | null>(null);
  const { id } = worker;
  const last = worker.request?.action;
  if (worker.state !== "live" || last === "stop") return null;
  const label = `worker ${visibleText(`${worker.host}:${worker.pid}`)}`;
  const ask = (what: RequestedAction | null) => () => {
    asked.value = what;
  };
  // The three routes take the same.
  const send = (action: string, body: PauseRequest) =>
    request(`POST /workers/:worker/${action}` as "POST /workers/:worker/pause", {
      params: { worker: id },
      body,
    });
  const verb = asked.value;
  return (
    <>
      <Menu label={`Actions of ${label}`}>
        {last === "pause" ? (
          <MenuItem
            icon="play"
            onSelect={() => perform(send("resume", {}), refresh, `punctual resume worker ${id}`)}
          >
            Resume
          </MenuItem>
        ) : (
          <MenuItem icon="paused" onSelect={ask("Pause")}>
            Pause…
          </MenuItem>
        )}
        {may("admin") && (
          <MenuItem icon="cancelled" danger onSelect={ask("Stop")}>
            Stop…
          </MenuItem>
        )}
      </Menu>
      {verb && (
        <PauseDialog
          what={label}
          verb={verb}
          command={`punctual ${verb === "Stop" ? "stop" : "pause worker"} ${id}`}
          pause={(body) => send(verb.toLowerCase(), body)}
          onDone={refresh}
          onClose={ask(null)}
        >
          {verb === "Stop"
            ? "It finishes its runs, then its process ends."
            : "It starts nothing more until it is resumed."}
        </PauseDialog>
      )}
    </>
  );
}
