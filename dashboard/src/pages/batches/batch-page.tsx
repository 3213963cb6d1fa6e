import { useEffect } from "preact/hooks";
import type { BatchDetail, CallbackView } from "../../../../src/dashboard/api/contract.ts";
import { useResource } from "../../api/resource.ts";
import { useRefresh } from "../../api/use-refresh.ts";
import { operations } from "../../bulk/bulk.ts";
import { BatchBar } from "../../charts/batch-bar.tsx";
import { Breadcrumb } from "../../components/breadcrumb.tsx";
import { Facts, Figures } from "../../components/facts.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { JobLink, RunName, runsPath } from "../../components/names.tsx";
import { Page } from "../../components/page.tsx";
import { Panel } from "../../components/panel.tsx";
import { BatchState } from "../../components/state-badge.tsx";
import { type Column, DataTable } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { Link } from "../../router/link.tsx";
import { formatNumber } from "../../text/number.ts";
import { visibleText } from "../../text/visible.ts";
import { formatDuration } from "../../time/format.ts";
import { RUN_COLUMNS } from "../runs/columns.tsx";
import { BatchActions } from "./batch-actions.tsx";

/** One batch: how far it is, what became of its members, and what follows. */
export function BatchPage({ id }: { id: string }) {
  const resource = useResource("GET /batches/:id", { params: { id } });
  const { data } = resource;
  // The overview's version does not show that a batch was sealed, cancelled or finished.
  useRefresh(resource, data !== null && data.state !== "finished");
  const ended = operations.value.filter(({ q, state }) => q === `batch:${id}` && state !== "running").length;
  useEffect(resource.refresh, [ended]);
  const title = data ? visibleText(data.name) : `Batch ${id}`;
  return (
    <Page
      title={title}
      above={<Breadcrumb>{[<Link to="/batches">Batches</Link>, id]}</Breadcrumb>}
      beside={data && <BatchState batch={data} />}
    >
      <Loaded
        resource={resource}
        missing={{
          what: "batch",
          name: id,
          all: "batches",
          why: "It was deleted, or never existed: a batch is kept as long as its members, and at least 7 days.",
        }}
      >
        {(batch) => <BatchContent batch={batch} refresh={resource.refresh} />}
      </Loaded>
    </Page>
  );
}

function BatchContent({ batch, refresh }: { batch: BatchDetail; refresh(): void }) {
  return (
    <>
      <BatchBar batch={batch} />
      <BatchActions batch={batch} refresh={refresh} />
      <Figures figures={figuresOf(batch)} />
      <div class="columns">
        <div class="stack">
          <Panel title="Callbacks" flush>
            <Callbacks batch={batch} />
          </Panel>
          {batch.failedMembers.length > 0 && <FailedMembers batch={batch} />}
        </div>
        <Panel title="Facts">
          <Facts facts={factsOf(batch)} />
        </Panel>
      </div>
    </>
  );
}

type Figure = Parameters<typeof Figures>[0]["figures"][number];

/** The members by state, each number a link to them. */
function figuresOf(batch: BatchDetail): Figure[] {
  const { id } = batch;
  const figure = (title: string, count: number, q: string, look = ""): Figure => [
    title,
    <Link class={count > 0 ? look : "muted"} to={runsPath(`batch:${id}`, ...(q === "" ? [] : [q]))}>
      {formatNumber(count)}
    </Link>,
  ];
  return [
    figure("Members", batch.total, ""),
    figure("Waiting", batch.waiting, "state:ready,scheduled"),
    figure("Running", batch.running, "state:running"),
    figure("Completed", batch.completed, "state:completed"),
    figure("Failed", batch.failed, "state:failed", "hot"),
    figure("Cancelled", batch.cancelled, "state:cancelled"),
    figure("Skipped", batch.skipped, "state:skipped"),
  ];
}

function factsOf(batch: BatchDetail): Parameters<typeof Facts>[0]["facts"] {
  const { failures, createdAt, sealedAt, failedAt, cancelledAt, finishedAt } = batch;
  const time = (at: string | null) => at !== null && <Time at={at} as="absolute" />;
  return [
    ["Failures", failures === "cancel" ? "the first one cancels the rest" : "the others continue"],
    ["Created", time(createdAt)],
    ["Sealed", sealedAt === null ? "no: members may be added" : time(sealedAt)],
    ["First failure", time(failedAt)],
    ["Cancelled", time(cancelledAt)],
    ["Finished", time(finishedAt)],
    ["Took", finishedAt !== null && formatDuration(Date.parse(finishedAt) - Date.parse(createdAt))],
  ];
}

function Callbacks({ batch }: { batch: BatchDetail }) {
  if (batch.callbacks.length === 0) return <p class="panel-content muted">It has none.</p>;
  const columns: Column<CallbackView & { index: number }>[] = [
    { key: "on", title: "When", card: "lead", cell: ({ on }) => `on ${on}` },
    { key: "job", title: "Job", card: "lead", cell: ({ job }) => <JobLink name={job} /> },
    {
      key: "runs",
      title: "Runs",
      cell: (callback) =>
        callback.runs.length > 0 ? (
          <span class="callback-runs">
            {callback.runs.map((run) => (
              <RunName key={run.id} run={run} />
            ))}
          </span>
        ) : (
          <span class="muted">{callback.note}</span>
        ),
    },
  ];
  return (
    <DataTable
      caption="Callbacks of the batch"
      columns={columns}
      rows={batch.callbacks.map((callback, index) => ({ ...callback, index }))}
      rowKey={({ index }) => index}
    />
  );
}

const FAILED_COLUMNS = RUN_COLUMNS.filter(({ key }) => ["job", "when", "error"].includes(key));

function FailedMembers({ batch }: { batch: BatchDetail }) {
  const title = "Members that failed last";
  const all = runsPath(`batch:${batch.id}`, "state:failed");
  return (
    <Panel title={title} aside={<Link to={all}>all {formatNumber(batch.failed)}</Link>} flush>
      <DataTable
        caption={title}
        columns={FAILED_COLUMNS}
        rows={batch.failedMembers}
        rowKey={({ id }) => id}
        keys
      />
    </Panel>
  );
}
