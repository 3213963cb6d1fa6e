import { useSignal } from "@preact/signals";
import { NewRows, Paging } from "../../components/paging.tsx";
import { ProblemText } from "../../components/problem.tsx";
import { Skeleton } from "../../components/skeleton.tsx";
import { DataTable } from "../../components/table.tsx";
import { setQuery } from "../../router/router.ts";
import { may } from "../../state/meta.ts";
import { change, PAGE_SIZES, settings } from "../../state/settings.ts";
import { formatCount } from "../../text/number.ts";
import { type Action, type BulkRequestDraft, draftFor } from "./bulk-dialog.tsx";
import { columnsFor } from "./columns.tsx";
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
  const { rows, problem, loading } = list;
  const act = (action: Action) => (row: RunRow) => {
    const chosen = selection.ids.size > 0 || selection.everything;
    onAct(chosen ? draftFor(action, view.q, selection, rows) : { action, ids: [row.id], rows: [row] });
  };
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
      <NewRows list={list} one="run" many="runs" />
      <DataTable
        caption="Runs, the newest first"
        columns={columnsFor(settings.value.runColumns, rows)}
        rows={rows}
        rowKey={({ id }) => id}
        selection={may("operator") ? selection : undefined}
        rowClass={({ deleted }) => (deleted ? "row-deleted" : undefined)}
        keys
        rowKeys={may("operator") ? { r: act("retry"), c: act("cancel") } : {}}
      />
      <RunsPaging view={view} list={list} />
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

function RunsPaging({ view, list }: { view: RunsView; list: RunsListState }) {
  const sizes = useSignal(PAGE_SIZES);
  return (
    <Paging scope={`runs ${view.q} ${view.limit}`} before={view.before} next={list.next}>
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
    </Paging>
  );
}
