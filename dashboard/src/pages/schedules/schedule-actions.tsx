import { useSignal } from "@preact/signals";
import type { ScheduleView } from "../../../../src/dashboard/api/contract.ts";
import { request } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { Menu, MenuItem } from "../../components/menu.tsx";
import { notify } from "../../components/notices.tsx";
import { PauseDialog } from "../../components/pause-dialog.tsx";
import { perform } from "../../components/perform.ts";
import { pathTo } from "../../router/path.ts";
import { navigate } from "../../router/router.ts";
import { may } from "../../state/meta.ts";
import { visibleText } from "../../text/visible.ts";

type RequestedAction = "run" | "pause" | null;

interface ScheduleActionProps {
  schedule: ScheduleView;
  refresh(): void;
}

/** Actions of a schedule in a row of a table. */
export function ScheduleMenu({ schedule, refresh }: ScheduleActionProps) {
  const asked = useSignal<RequestedAction>(null);
  const ask = (what: RequestedAction) => () => {
    asked.value = what;
  };
  return (
    <>
      <Menu label={`Actions of schedule ${schedule.id}`}>
        <MenuItem icon="right" onSelect={() => navigate(pathTo("/schedules/:id", { id: schedule.id }))}>
          Open
        </MenuItem>
        {may("operator") && (
          <MenuItem icon="play" onSelect={ask("run")}>
            Run now…
          </MenuItem>
        )}
        {may("operator") &&
          (schedule.pause ? (
            <MenuItem icon="play" onSelect={() => resume(schedule.id, refresh)}>
              Resume
            </MenuItem>
          ) : (
            <MenuItem icon="paused" onSelect={ask("pause")}>
              Pause…
            </MenuItem>
          ))}
      </Menu>
      <Dialogs schedule={schedule} asked={asked.value} refresh={refresh} onClose={ask(null)} />
    </>
  );
}

/** Actions of a schedule on its own page. */
export function ScheduleButtons({ schedule, refresh }: ScheduleActionProps) {
  const asked = useSignal<RequestedAction>(null);
  const ask = (what: RequestedAction) => () => {
    asked.value = what;
  };
  if (!may("operator")) return null;
  return (
    <>
      {schedule.pause ? (
        <Button icon="play" onClick={() => resume(schedule.id, refresh)}>
          Resume
        </Button>
      ) : (
        <Button icon="paused" onClick={ask("pause")}>
          Pause…
        </Button>
      )}
      <Button kind="primary" icon="play" onClick={ask("run")}>
        Run now…
      </Button>
      <Dialogs schedule={schedule} asked={asked.value} refresh={refresh} onClose={ask(null)} />
    </>
  );
}

function resume(id: number, refresh: () => void): Promise<void> {
  return perform(
    request("POST /schedules/:id/resume", { params: { id }, body: {} }),
    refresh,
    `punctual resume schedule ${id}`,
  );
}

function Dialogs({
  schedule,
  asked,
  refresh,
  onClose,
}: ScheduleActionProps & { asked: RequestedAction; onClose(): void }) {
  const { id, job } = schedule;
  const name = visibleText(job);
  const run = async () => {
    const created = await request("POST /schedules/:id/run", { params: { id }, body: {} });
    notify(created.created ? `Run ${created.id} was dispatched.` : `Run ${created.id} exists already.`);
    refresh();
  };
  if (asked === "run") {
    return (
      <ConfirmDialog
        title={`Run ${name} now?`}
        confirm="Run now"
        command={`punctual schedule run ${id}`}
        act={run}
        onClose={onClose}
      >
        <p>One run is dispatched with the arguments of schedule {id}. Its next tick stays as it is.</p>
      </ConfirmDialog>
    );
  }
  if (asked === "pause") {
    return (
      <PauseDialog
        what={`schedule ${id} of ${name}`}
        command={`punctual pause schedule ${id}`}
        pause={(body) => request("POST /schedules/:id/pause", { params: { id }, body })}
        onDone={refresh}
        onClose={onClose}
      >
        It does not tick until it is resumed. Ticks during the pause are not made up.
      </PauseDialog>
    );
  }
  return null;
}
