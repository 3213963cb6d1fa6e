import { useSignal } from "@preact/signals";
import type { BatchAction, BatchDetail } from "../../../../src/dashboard/api/contract.ts";
import { request } from "../../api/client.ts";
import { followBulk } from "../../bulk/bulk.ts";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { CommandLine } from "../../components/copy-button.tsx";
import { notify } from "../../components/notices.tsx";
import { useKeys } from "../../keyboard/keys.ts";
import { may } from "../../state/meta.ts";

const LOOKS = {
  retry: { word: "Retry", icon: "retrying", shortcut: "r" },
  seal: { word: "Seal", icon: "completed", shortcut: "" },
  cancel: { word: "Cancel", icon: "cancelled", shortcut: "c" },
} as const;

/** Buttons for what the state of the batch and the user's role allow. Each asks first, with the command line. */
export function BatchActions({ batch, refresh }: { batch: BatchDetail; refresh(): void }) {
  const asked = useSignal<BatchAction | null>(null);
  const { id, commands, effects } = batch;
  const actions = may("operator") ? batch.actions : [];
  const ask = (action: BatchAction) => () => {
    if (!actions.includes(action)) return false;
    asked.value = action;
    return true;
  };
  useKeys({ r: ask("retry"), c: ask("cancel") });
  const [first] = actions;
  const current = asked.value;
  if (!first) return null;
  return (
    <div class="actions">
      {actions.map((action) => {
        const { word, ...look } = LOOKS[action];
        return (
          <Button key={action} onClick={ask(action)} {...look}>
            {word}…
          </Button>
        );
      })}
      <CommandLine command={commands[first]!} />
      {current && (
        <ConfirmDialog
          title={`${LOOKS[current].word} batch ${id}?`}
          confirm={`${LOOKS[current].word} the batch`}
          command={commands[current]}
          danger={current === "cancel"}
          act={async () => {
            const input = { params: { id }, body: {} };
            if (current === "seal") notify((await request("POST /batches/:id/seal", input)).message);
            else followBulk(await request(`POST /batches/:id/${current}`, input));
            refresh();
          }}
          onClose={() => {
            asked.value = null;
          }}
        >
          <p>{effects[current]}</p>
        </ConfirmDialog>
      )}
    </div>
  );
}
