import { Button } from "../../components/button.tsx";
import { may } from "../../state/meta.ts";
import { formatCount, formatNumber } from "../../text/number.ts";
import { type Action, type BulkRequestDraft, draftFor } from "./bulk-dialog.tsx";
import type { RunsView } from "./runs-page.tsx";
import type { RunSelection } from "./selection.ts";
import type { RunRow, RunsListState } from "./use-runs.ts";

interface SelectionBarProps {
  view: RunsView;
  list: RunsListState;
  selection: RunSelection;
  onAct(draft: BulkRequestDraft): void;
}

/** How many runs are selected, and what can be done with them. It sticks to the top while the list scrolls. */
export function SelectionBar({ view, list, selection, onAct }: SelectionBarProps) {
  const { ids, everything } = selection;
  if (ids.size === 0 && !everything) return null;
  const act = (action: Action) => () => onAct(draftFor(action, view.q, selection, list.rows));
  const states = everything ? null : statesOf(list.rows, ids);
  return (
    <div class="selection-bar" role="toolbar" aria-label="Selected runs">
      <span class="selection-text">
        <strong>
          {everything ? `All${list.count ? ` ${formatCount(list.count)}` : ""}` : formatNumber(ids.size)}
        </strong>{" "}
        {everything ? "matching runs" : "selected"}
      </span>
      {!everything && list.count && list.count.value > ids.size && (
        <button type="button" class="text-button" onClick={selection.selectEverything}>
          Select all {formatCount(list.count)} matching
        </button>
      )}
      <button type="button" class="text-button" onClick={selection.clear}>
        Clear
      </button>
      <span class="selection-actions">
        <Button small icon="retrying" shortcut="r" disabled={states?.finished === 0} onClick={act("retry")}>
          Retry
        </Button>
        <Button
          small
          icon="cancelled"
          shortcut="c"
          disabled={states?.unfinished === 0}
          onClick={act("cancel")}
        >
          Cancel
        </Button>
        {may("admin") && (
          <Button small kind="danger" icon="trash" disabled={states?.deletable === 0} onClick={act("delete")}>
            Delete…
          </Button>
        )}
      </span>
    </div>
  );
}

/** How many of the selected runs each action applies to; runs of other pages count for each. */
function statesOf(rows: readonly RunRow[], ids: ReadonlySet<number>) {
  const seen = rows.filter(({ id }) => ids.has(id));
  const unseen = ids.size - seen.length;
  const finished = seen.filter(({ finishedAt }) => finishedAt !== null).length;
  return {
    finished: finished + unseen,
    unfinished: seen.length - finished + unseen,
    deletable: seen.filter(({ state }) => state !== "running").length + unseen,
  };
}
