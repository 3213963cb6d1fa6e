import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Button } from "./button.tsx";
import { CommandLine } from "./copy-button.tsx";
import { Dialog } from "./dialog.tsx";
import { ProblemText } from "./problem.tsx";
import { useSubmit } from "./use-submit.ts";

interface ConfirmDialogProps {
  title: string;
  /** The effect of the action, and on how many. */
  children: ComponentChildren;
  /** Text of the button that acts, such as "Retry 27 runs". */
  confirm: string;
  /** The command line that does the same. */
  command?: string | undefined;
  danger?: boolean;
  /** Text that must be typed first, for what is large or cannot be undone. */
  typed?: string | undefined;
  /** Acts. A rejected request shows its problem in the dialog. */
  act(): Promise<unknown>;
  onClose(): void;
}

/** Asks before an action. It stays open until the action has succeeded. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, children, confirm, command, danger = false, typed, act, onClose } = props;
  const text = useSignal("");
  const blocked = typed !== undefined && text.value.trim() !== typed;
  const { busy, problem, onSubmit } = useSubmit(async () => {
    await act();
    onClose();
  }, blocked);
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={onSubmit}>
        {children}
        {typed !== undefined && (
          <label class="field">
            <span>
              Type <strong>{typed}</strong> to confirm
            </span>
            <input
              class="input"
              autocomplete="off"
              autofocus
              value={text.value}
              onInput={({ currentTarget }) => {
                text.value = currentTarget.value;
              }}
            />
          </label>
        )}
        {command && (
          <div class="stack-tight">
            <span class="caption">The same on the command line</span>
            <CommandLine command={command} />
          </div>
        )}
        {problem.value && <ProblemText problem={problem.value} />}
        <div class="dialog-actions">
          <Button onClick={onClose}>Back</Button>
          <Button
            type="submit"
            kind={danger ? "danger" : "primary"}
            disabled={busy || blocked}
            autofocus={typed === undefined}
          >
            {busy ? "Working…" : confirm}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
