import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Count } from "../../../../src/dashboard/api/contract.ts";
import { request } from "../../api/client.ts";
import { followBulk } from "../../bulk/bulk.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { commandFor } from "../../query/command.ts";
import { namesState } from "../../query/terms.ts";
import { formatCount, plural } from "../../text/number.ts";
import type { RunSelection } from "./selection.ts";
import type { RunRow } from "./use-runs.ts";

export type Action = "retry" | "cancel" | "delete";

/** The action that the user is about to take: on these runs, or on all that match a query. */
export interface BulkRequestDraft {
  action: Action;
  ids?: readonly number[];
  /** The selected rows that the page shows. */
  rows?: readonly RunRow[];
  q?: string;
}

/** States that an action applies to, added to a query that names none: what happens is then said in full. */
const DEFAULT_STATES: Record<Action, string> = {
  retry: "state:failed",
  cancel: "state:scheduled,ready,running",
  delete: "is:finished",
};

export function draftFor(
  action: Action,
  q: string,
  { everything, ids }: RunSelection,
  rows: readonly RunRow[],
): BulkRequestDraft {
  if (!everything) return { action, ids: [...ids], rows: rows.filter(({ id }) => ids.has(id)) };
  return { action, q: namesState(q) ? q : `${DEFAULT_STATES[action]} ${q}`.trim() };
}

const VERBS: Record<Action, string> = { retry: "Retry", cancel: "Cancel", delete: "Delete" };
const EFFECTS: Record<Action, string> = {
  retry: "Finished runs run again under the same id, with one more attempt.",
  cancel: "Waiting runs are cancelled. Running handlers are asked to stop, and may finish first.",
  delete: "The runs are deleted with their attempts and log lines. This cannot be undone.",
};
/** Above this number the user types a confirmation. */
const MANY = 100;

interface RunsDialogProps {
  draft: BulkRequestDraft;
  zone: string;
  onDone(): void;
  onClose(): void;
}

/** Asks before runs are retried, cancelled or deleted: how many, with what effect, and by which command. */
export function RunsDialog({ draft, zone, onDone, onClose }: RunsDialogProps) {
  const { action, ids, rows = [], q } = draft;
  const count = useSignal<Count | null>(ids ? { value: ids.length, capped: false } : null);
  useEffect(() => {
    if (q === undefined) return;
    const abort = new AbortController();
    request("GET /runs", { query: { q, zone, limit: 1 } }, abort.signal).then(
      (page) => {
        count.value = page.count;
      },
      () => {
        // The server refuses or repeats the problem when the action is confirmed.
      },
    );
    return () => abort.abort();
  }, [q, zone]);

  const known = count.value;
  const text =
    known === null
      ? "all matching runs"
      : known.capped
        ? `${formatCount(known)} runs`
        : plural(known.value, "run");
  const unfit = rows.filter(({ state, finishedAt }) =>
    action === "retry"
      ? finishedAt === null
      : action === "cancel"
        ? finishedAt !== null
        : state === "running",
  ).length;
  const act = async () => {
    const body = ids ? { action, ids: [...ids] } : { action, q: q ?? "", zone };
    followBulk(await request("POST /runs/bulk", { body }));
    onDone();
  };
  return (
    <ConfirmDialog
      title={`${VERBS[action]} ${text}?`}
      confirm={`${VERBS[action]} ${text}`}
      danger={action === "delete"}
      command={commandFor(action, ids ? { ids } : { q: q ?? "" })}
      typed={typedText(action, known)}
      act={act}
      onClose={onClose}
    >
      <p>{EFFECTS[action]}</p>
      {q !== undefined && (
        <p>
          Every run that matches <code>{q || "(no filter)"}</code>, also those that arrive until it is done.
        </p>
      )}
      {unfit > 0 && (
        <p class="muted">
          {plural(unfit, "run")} of the selection {unfit === 1 ? "is" : "are"} in a state that does not allow
          it, and will be skipped.
        </p>
      )}
    </ConfirmDialog>
  );
}

/** The number of runs, so that it has been read; where it is not known to the end, the verb. */
function typedText(action: Action, count: Count | null): string | undefined {
  if (count === null || count.capped) return action;
  return count.value > MANY ? String(count.value) : undefined;
}
