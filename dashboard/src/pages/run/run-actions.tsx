import { useSignal } from "@preact/signals";
import type { RunAction, RunDetail } from "../../../../src/dashboard/api/contract.ts";
import { request } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { CommandLine } from "../../components/copy-button.tsx";
import { notify } from "../../components/notices.tsx";
import { perform } from "../../components/perform.ts";
import { useKeys } from "../../keyboard/keys.ts";
import { navigate } from "../../router/router.ts";
import { may } from "../../state/meta.ts";
import { visibleText } from "../../text/visible.ts";
import { RerunDialog } from "./rerun-dialog.tsx";

/** Buttons for what the run's state and the user's role allow. Actions that lose something ask first. */
export function RunActions({ run, refresh }: { run: RunDetail; refresh(): void }) {
  const asked = useSignal<RunAction | null>(null);
  const busy = useSignal(false);
  const can = (action: RunAction) => may("operator") && run.actions.includes(action);
  const ask = (action: RunAction) => () => {
    if (!can(action)) return false;
    asked.value = action;
    return true;
  };
  const close = () => {
    asked.value = null;
  };
  const params = { id: run.id };
  const retry = () => {
    if (!can("retry") || busy.value) return false;
    busy.value = true;
    void perform(
      request("POST /runs/:id/retry", { params, body: {} }),
      () => {
        busy.value = false;
        refresh();
      },
      run.commands.retry!,
    );
    return true;
  };
  useKeys({ r: retry, c: ask("cancel") });
  const cancel = async (force: boolean) => {
    const { message } = await request("POST /runs/:id/cancel", { params, body: force ? { force } : {} });
    notify(message);
    refresh();
  };
  const remove = async () => {
    notify((await request("DELETE /runs/:id", { params })).message);
    navigate("/runs");
  };
  const command = firstCommand(run);
  if (!run.actions.some(can)) return null;
  return (
    <div class="actions">
      {can("retry") && (
        <Button
          kind={run.state === "failed" ? "primary" : "default"}
          icon="retrying"
          shortcut="r"
          disabled={busy.value}
          onClick={retry}
        >
          Retry
        </Button>
      )}
      {can("cancel") && (
        <Button icon="cancelled" shortcut="c" onClick={ask("cancel")}>
          Cancel…
        </Button>
      )}
      {can("forceCancel") && <Button onClick={ask("forceCancel")}>Force cancel…</Button>}
      {can("rerun") && (
        <Button icon="play" onClick={ask("rerun")}>
          Run again…
        </Button>
      )}
      {can("delete") && (
        <Button icon="trash" onClick={ask("delete")}>
          Delete…
        </Button>
      )}
      {command && <CommandLine command={command} />}
      {asked.value === "cancel" && (
        <ConfirmDialog
          title={`Cancel run ${run.id}?`}
          confirm="Cancel the run"
          command={run.commands.cancel}
          danger
          act={() => cancel(false)}
          onClose={close}
        >
          <p>
            {run.state === "running"
              ? "Its signal is aborted. The run ends as cancelled when its handler has stopped."
              : "It will not start. It stays in the list as cancelled, and can be retried."}
          </p>
        </ConfirmDialog>
      )}
      {asked.value === "forceCancel" && (
        <ConfirmDialog
          title={`Force run ${run.id} to end?`}
          confirm="Force cancel"
          command={run.commands.forceCancel}
          danger
          act={() => cancel(true)}
          onClose={close}
        >
          <p>
            The run ends as cancelled at once, although its worker may hang. Code of the handler that is still
            under way may continue; its result is discarded.
          </p>
        </ConfirmDialog>
      )}
      {asked.value === "delete" && (
        <ConfirmDialog
          title={`Delete run ${run.id}?`}
          confirm="Delete the run"
          command={run.commands.delete}
          danger
          act={remove}
          onClose={close}
        >
          <p>
            The run of {visibleText(run.job)}, its attempts and its log lines are deleted. This cannot be
            undone.
          </p>
        </ConfirmDialog>
      )}
      {asked.value === "rerun" && <RerunDialog run={run} onClose={close} />}
    </div>
  );
}

/** The command of the action that is most likely wanted. */
function firstCommand({ actions, commands }: RunDetail): string | undefined {
  const order: RunAction[] = ["retry", "cancel", "rerun"];
  const action = order.find((candidate) => actions.includes(candidate) && commands[candidate] !== undefined);
  return action && commands[action];
}
