import { useSignal } from "@preact/signals";
import { Button } from "../../components/button.tsx";
import { ProblemText } from "../../components/problem.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { DataTable } from "../../components/table.tsx";
import { useKeys } from "../../keyboard/keys.ts";
import { setQuery } from "../../router/router.ts";
import { may } from "../../state/meta.ts";
import { change, PAGE_SIZES } from "../../state/settings.ts";
import { formatCount, plural } from "../../text/number.ts";
import { type Action, type BulkRequestDraft, draftFor } from "./bulk-dialog.tsx";
import { RUN_COLUMNS } from "./columns.tsx";
import { NoRuns, RunsProblem } from "./empty-states.tsx";
import type { RunsView } from "./runs-page.tsx";
import type { RunSelection } from "./selection.ts";
import { SelectionBar } from "./selection-bar.tsx";
import type { RunRow, RunsListState } from "./use-runs.ts";

interface RunsListProps {
  view: RunsView;
  list: RunsListState;
  selection: RunSelection;
  onSearch(q: string): void;
  onAct(draft: BulkRequestDraft): void;
}

/** The rows with what belongs to them: notes, selection, the pill for new runs, and paging. */
export function RunsList({ view, list, selection, onSearch, onAct }: RunsListProps) {
  const { rows, added, problem, loading } = list;
  const showNew = () => {
    if (added.value === 0) return false;
    list.reload();
    scrollTo({ top: 0 });
    return true;
  };
  const act = (action: Action) => (row: RunRow) => {
    const chosen = selection.ids.size > 0 || selection.everything;
    onAct(chosen ? draftFor(action, view.q, selection, rows) : { action, ids: [row.id], rows: [row] });
  };
  useKeys({ n: showNew });
  if (loading) return <Skeleton rows={view.limit} />;
  if (rows.length === 0 && problem)
    return <RunsProblem q={view.q} problem={problem} onSearch={onSearch} onRetry={list.reload} />;
  if (rows.length === 0) return <NoRuns view={view} list={list} onSearch={onSearch} />;
  return (
    <>
      {list.bounded && <BoundedNote q={view.q} onSearch={onSearch} />}
      {problem && problem.code !== "INVALID_QUERY" && (
        <div class="list-note">
          <ProblemText problem={problem} />
        </div>
      )}
      <SelectionBar view={view} list={list} selection={selection} onAct={onAct} />
      {added.value > 0 && (
        <div class="pill-place">
          <Button class="pill" icon="up" shortcut="n" onClick={showNew}>
            {added.capped ? `${formatCount(added)} new runs` : plural(added.value, "new run")} — show
          </Button>
        </div>
      )}
      <DataTable
        caption="Runs, the newest first"
        columns={RUN_COLUMNS}
        rows={rows}
        rowKey={({ id }) => id}
        selection={may("operator") ? selection : undefined}
        rowClass={({ deleted }) => (deleted ? "row-deleted" : undefined)}
        keys
        rowKeys={may("operator") ? { r: act("retry"), c: act("cancel") } : {}}
      />
      <Paging view={view} list={list} />
    </>
  );
}

function BoundedNote({ q, onSearch }: { q: string; onSearch(q: string): void }) {
  return (
    <p class="list-note muted">
      Finished runs of the last 7 days: the query has no <code>after:</code> itself.{" "}
      <button type="button" class="text-button" onClick={() => onSearch(`${q} after:30d`.trim())}>
        Search 30 days
      </button>
    </p>
  );
}

/** Cursors of the pages that this visit has seen, by the cursor of the page behind: the way back. */
const newerPages = new Map<string, number | null>();

function Paging({ view, list }: { view: RunsView; list: RunsListState }) {
  const sizes = useSignal(PAGE_SIZES);
  const keyOf = (before: number | null) => `${view.q} ${view.limit} ${before}`;
  const newer = newerPages.get(keyOf(view.before));
  const older = () => {
    newerPages.set(keyOf(list.next), view.before);
    setQuery({ before: list.next });
    scrollTo({ top: 0 });
  };
  return (
    <nav class="paging" aria-label="Pages of the list">
      <label class="paging-size">
        <span class="muted">Rows</span>
        <select
          class="select"
          value={view.limit}
          onChange={({ currentTarget }) => {
            change({ pageSize: Number(currentTarget.value) });
            setQuery({ limit: null, before: null }, { replace: true });
          }}
        >
          {sizes.value.map((size) => (
            <option key={size} value={size}>
              {size}
            </option>
          ))}
        </select>
      </label>
      {list.count && <span class="muted">{formatCount(list.count)} match</span>}
      <span class="paging-buttons">
        {view.before !== null && newer !== null && newer !== undefined && (
          <Button small onClick={() => setQuery({ before: null })}>
            Newest
          </Button>
        )}
        <Button
          small
          icon="left"
          disabled={view.before === null}
          onClick={() => setQuery({ before: newer ?? null })}
        >
          {newer === undefined && view.before !== null ? "Newest" : "Newer"}
        </Button>
        <Button small icon="right" class="button-reverse" disabled={list.next === null} onClick={older}>
          Older
        </Button>
      </span>
    </nav>
  );
}
