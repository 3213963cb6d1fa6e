import type { BatchView, Page as PageOf } from "../../../../src/dashboard/api/contract.ts";
import { request } from "../../api/client.ts";
import { type LiveList, type LiveRow, useLiveList } from "../../api/live-list.ts";
import { REFRESH_EVERY } from "../../api/use-refresh.ts";
import { BatchBar } from "../../charts/batch-bar.tsx";
import { Choice } from "../../components/choice.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Name, runsPath } from "../../components/names.tsx";
import { Page } from "../../components/page.tsx";
import { NewRows, Paging } from "../../components/paging.tsx";
import { Empty, ProblemText } from "../../components/problem.tsx";
import { BatchState } from "../../components/state-badge.tsx";
import { type Column, DataTable } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { query, setQuery } from "../../router/router.ts";
import { settings } from "../../state/settings.ts";
import { formatNumber } from "../../text/number.ts";

type Show = "all" | "unfinished";
type Batches = LiveList<BatchView, PageOf<BatchView>>;

interface View {
  show: Show;
  before: number | null;
  limit: number;
}

function viewFromAddress(): View {
  const before = Number(query.value.get("before") ?? "");
  return {
    show: query.value.get("show") === "unfinished" ? "unfinished" : "all",
    before: Number.isInteger(before) && before > 0 ? before : null,
    limit: settings.value.pageSize,
  };
}

function useBatches(view: View): Batches {
  const { show, before, limit } = view;
  return useLiveList<BatchView, PageOf<BatchView>>({
    key: `batches ${JSON.stringify(view)}`,
    fromNewest: before === null,
    // A batch is sealed, cancelled or finished without a change of the overview's version.
    every: REFRESH_EVERY,
    page: (signal) =>
      request("GET /batches", { query: { show, limit, ...(before ? { before } : {}) } }, signal),
    async changes(ids, newest, signal) {
      const input = { query: { show, ids, ...newest } };
      const { batches, added } = await request("GET /batches/changes", input, signal);
      return { rows: batches, added };
    },
  });
}

const COLUMNS: Column<LiveRow<BatchView>>[] = [
  { key: "state", title: "State", card: "lead", cell: (batch) => <BatchState batch={batch} /> },
  {
    key: "batch",
    title: "Batch",
    card: "lead",
    cell: ({ id, name }) => (
      <Link class="run-link" to={pathTo("/batches/:id", { id })}>
        <Name>{name}</Name> <span class="muted">{id}</span>
      </Link>
    ),
  },
  { key: "progress", title: "Progress", cell: (batch) => <BatchBar batch={batch} /> },
  {
    key: "failed",
    title: "Failed",
    align: "end",
    cardLabel: "failed",
    cell: (batch) => <Members batch={batch} state="failed" />,
  },
  {
    key: "cancelled",
    title: "Cancelled",
    align: "end",
    cardLabel: "cancelled",
    cell: (batch) => <Members batch={batch} state="cancelled" />,
  },
  {
    key: "age",
    title: "Age",
    align: "end",
    card: "end",
    cell: ({ createdAt }) => <Time at={createdAt} as="age" />,
  },
];

/** Every batch, the newest first. What is shown is in the address, which can be shared. */
export function BatchesPage() {
  const view = viewFromAddress();
  const list = useBatches(view);
  return (
    <Page title="Batches">
      <Loaded resource={{ ...list, data: list.page, refresh: list.reload }}>
        {() => <BatchList view={view} list={list} />}
      </Loaded>
    </Page>
  );
}

function BatchList({ view, list }: { view: View; list: Batches }) {
  const { rows, page, problem } = list;
  const { show, before } = view;
  const { length } = rows;
  if (length === 0 && show === "all" && before === null) return <NoBatches />;
  return (
    <section class="panel" aria-label="List of batches">
      <div class="filter-bar">
        <Choice
          label="Batches to show"
          value={show}
          options={[
            { value: "all", label: "All" },
            { value: "unfinished", label: "Not finished" },
          ]}
          onChange={(next) => setQuery({ show: next === "all" ? null : next, before: null })}
        />
      </div>
      {problem && (
        <div class="list-note">
          <ProblemText problem={problem} />
        </div>
      )}
      <NewRows list={list} one="batch" many="batches" />
      {length > 0 ? (
        <DataTable
          caption="Batches, the newest first"
          columns={COLUMNS}
          rows={rows}
          rowKey={({ id }) => id}
          rowClass={({ deleted }) => (deleted ? "row-deleted" : undefined)}
          keys
        />
      ) : (
        <p class="panel-content muted">
          {show === "all" ? "There are no older batches." : "Every batch has finished."}
        </p>
      )}
      <Paging scope={`batches ${show}`} before={before} next={page?.next ?? null} />
    </section>
  );
}

/** How many members ended in a state, as a link to them. */
function Members({ batch, state }: { batch: BatchView; state: "failed" | "cancelled" }) {
  const count = batch[state];
  if (count === 0) return <span class="muted none">—</span>;
  return (
    <Link class={state === "failed" ? "hot" : ""} to={runsPath(`batch:${batch.id}`, `state:${state}`)}>
      {formatNumber(count)}
    </Link>
  );
}

function NoBatches() {
  return (
    <Empty icon="ready" title="No batches yet">
      <p>
        A batch counts runs together, and dispatches others when all have ended: <code>jobs.batch()</code>.
      </p>
    </Empty>
  );
}
