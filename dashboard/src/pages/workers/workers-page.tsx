import type { WorkerRequestView, WorkerView } from "../../../../src/dashboard/api/contract.ts";
import { useResource } from "../../api/resource.ts";
import { Gauge } from "../../charts/gauge.tsx";
import { CommandLine } from "../../components/copy-button.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { JobLink, Name, QueueLink, runsPath } from "../../components/names.tsx";
import { Page } from "../../components/page.tsx";
import { PauseNote } from "../../components/pause-dialog.tsx";
import { Empty } from "../../components/problem.tsx";
import { WorkerState } from "../../components/state-badge.tsx";
import { useSteadyRows } from "../../components/steady-rows.ts";
import { type Column, DataTable } from "../../components/table.tsx";
import { Duration, Elapsed, Time } from "../../components/time.tsx";
import { heartbeat } from "../../live/live.ts";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { may, meta } from "../../state/meta.ts";
import { formatBytes } from "../../text/bytes.ts";
import { plural } from "../../text/number.ts";
import { term } from "../../text/query.ts";
import { WorkerMenu } from "./worker-menu.tsx";

/** A delay of the event loop that handlers notice. */
const SLOW_LOOP = 200;
const RANK: Record<WorkerView["state"], number> = { silent: 0, live: 1, dispatcher: 2 };

/** The processes that execute runs: alive or silent, and what each one does now. */
export function WorkersPage() {
  const resource = useResource("GET /workers", {}, { also: heartbeat });
  return (
    <Page title="Workers">
      <Loaded resource={resource}>
        {({ items }) =>
          items.length === 0 ? <NoWorkers /> : <WorkerList workers={items} refresh={resource.refresh} />
        }
      </Loaded>
    </Page>
  );
}

function WorkerList({ workers, refresh }: { workers: WorkerView[]; refresh(): void }) {
  const ranked = workers.toSorted(
    (a, b) => RANK[a.state] - RANK[b.state] || a.host.localeCompare(b.host) || a.pid - b.pid,
  );
  const rows = useSteadyRows(ranked, (worker) => worker.id, "");
  const columns: Column<WorkerView>[] = [
    { key: "state", title: "State", card: "lead", cell: (worker) => <WorkerState worker={worker} /> },
    {
      key: "worker",
      title: "Worker",
      card: "lead",
      cell: (worker) => (
        <span class="two-lines">
          <Link to={runsPath(term("worker", worker.id))}>
            <Name>{worker.host === "" ? "unknown host" : `${worker.host}:${worker.pid}`}</Name>
          </Link>
          <span class="caption">{worker.id}</span>
        </span>
      ),
    },
    { key: "version", title: "Version", cell: ({ version }) => <Version version={version} /> },
    { key: "queues", title: "Queues", cell: (worker) => <Queues worker={worker} /> },
    {
      key: "slots",
      title: "Slots",
      cardLabel: "slots",
      cell: ({ slots }) => (
        <span class="gauge-cell">
          <span>
            {slots.used}
            {slots.total > 0 && <span class="muted"> / {slots.total}</span>}
          </span>
          <Gauge used={slots.used} total={slots.total} label="Slots in use" />
        </span>
      ),
    },
    {
      key: "children",
      title: "Children",
      cell: ({ children }) => children.length > 0 && plural(children.length, "child", "children"),
    },
    {
      key: "heartbeat",
      title: "Heartbeat",
      align: "end",
      card: "end",
      cell: ({ seenAt, state }) => (
        <span class={state === "silent" ? "hot" : ""}>
          <Time at={seenAt} />
        </span>
      ),
    },
    {
      key: "memory",
      title: "Memory",
      align: "end",
      cardLabel: "memory",
      cell: ({ memory }) => (memory === null ? <span class="muted none">—</span> : formatBytes(memory)),
    },
    {
      key: "lag",
      title: "Loop lag",
      align: "end",
      cardLabel: "lag",
      cell: ({ loopLag }) =>
        loopLag !== null && loopLag > SLOW_LOOP ? (
          <span class="warm">
            <Duration ms={loopLag} />
          </span>
        ) : (
          <Duration ms={loopLag} />
        ),
    },
    {
      key: "started",
      title: "Started",
      align: "end",
      card: "hide",
      cell: ({ startedAt }) => <Time at={startedAt} />,
    },
    {
      key: "actions",
      title: "Actions",
      hideTitle: true,
      align: "end",
      card: "end",
      cell: (worker) => <WorkerMenu worker={worker} refresh={refresh} />,
    },
  ];
  return (
    <section class="panel" aria-label="Workers">
      <DataTable
        caption="Workers"
        columns={columns.filter(
          ({ key }) =>
            (key !== "children" || rows.some(({ children }) => children.length > 0)) &&
            (key !== "actions" || may("operator")),
        )}
        rows={rows}
        rowKey={(worker) => worker.id}
        below={(worker) => <Now worker={worker} />}
        keys
      />
    </section>
  );
}

function Version({ version }: { version: string | null }) {
  if (version === null) return <span class="muted">—</span>;
  return <span class={version === meta.value?.version ? "" : "warm"}>{version}</span>;
}

function Queues({ worker }: { worker: WorkerView }) {
  const except = worker.except.length > 0 && (
    <span class="muted">
      {" except "}
      {worker.except.join(", ")}
    </span>
  );
  if (worker.state === "dispatcher" || worker.host === "") return <span class="muted">—</span>;
  if (worker.queues === null) return <span>all{except}</span>;
  return (
    <span class="wrap">
      {worker.queues.map((queue, index) => (
        <span key={queue}>
          {index > 0 && ", "}
          <QueueLink name={queue} />
        </span>
      ))}
      {except}
    </span>
  );
}

/** Runs that a worker executes now; of a silent one, what happens to them. */
function Now({ worker }: { worker: WorkerView }) {
  const silent = worker.state === "silent";
  if (!silent && worker.request === null && worker.running.length === 0) return null;
  return (
    <div class="stack-tight">
      {worker.request && <Requested worker={worker} request={worker.request} />}
      {silent && <Silence worker={worker} />}
      {worker.running.length > 0 && (
        <ul class="running-now">
          {worker.running.map((run) => (
            <li key={run.id}>
              <Link to={pathTo("/runs/:id", { id: run.id })}>{run.id}</Link> <JobLink name={run.job} />{" "}
              {/* The start of a silent worker's run is not known. */}
              {run.took !== null && (
                <span class="muted">
                  <Elapsed since={run.at} />
                </span>
              )}
            </li>
          ))}
          {worker.slots.used > worker.running.length && (
            <li class="muted">and {plural(worker.slots.used - worker.running.length, "more run")}</li>
          )}
        </ul>
      )}
    </div>
  );
}

/** The request of an operator to a worker, and whether it has obeyed. */
function Requested({ worker, request }: { worker: WorkerView; request: WorkerRequestView }) {
  return (
    <p class={request.obeyed ? "muted" : "warm"}>
      <PauseNote pause={{ ...request, until: null }} word={`asked to ${request.action}`} />
      {!request.obeyed && (worker.activity ? ". Not obeyed yet." : ". Its version ignores it.")}
    </p>
  );
}

function Silence({ worker }: { worker: WorkerView }) {
  return (
    <p class="warm">
      No heartbeat: a live worker takes back its {plural(worker.slots.used, "run")} when the lease ends:{" "}
      <Time at={worker.leasedUntil} />
    </p>
  );
}

function NoWorkers() {
  return (
    <Empty icon="worker" title="No worker is running">
      <p>Runs wait until one starts:</p>
      <CommandLine command="punctual work" />
    </Empty>
  );
}
