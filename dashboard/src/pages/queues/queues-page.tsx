import { useSignal } from "@preact/signals";
import type { QueueView } from "../../../../src/dashboard/api/contract.ts";
import { COUNTS, useResource } from "../../api/resource.ts";
import { useRefresh } from "../../api/use-refresh.ts";
import { Gauge } from "../../charts/gauge.tsx";
import { Sparkline } from "../../charts/sparkline.tsx";
import { CommandLine } from "../../components/copy-button.tsx";
import { FilterBar, useFilter } from "../../components/filter-bar.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { QueueLink, runsPath } from "../../components/names.tsx";
import { Page } from "../../components/page.tsx";
import { PauseNote } from "../../components/pause-dialog.tsx";
import { Empty } from "../../components/problem.tsx";
import { Spent } from "../../components/rates-panel.tsx";
import { useSteadyRows } from "../../components/steady-rows.ts";
import { type Column, DataTable } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { useSort } from "../../components/use-sort.ts";
import { Link } from "../../router/link.tsx";
import { formatCompact, formatCount } from "../../text/number.ts";
import { term } from "../../text/query.ts";
import { laterOf, laterTerm, waitingOf, waitingTerm } from "../../text/waiting.ts";
import { now } from "../../time/clock.ts";
import { QueueActions } from "./queue-actions.tsx";
import { QueueState } from "./queue-state.tsx";

/** A queue whose first run has waited this long is a problem. */
const LATE_AFTER = 5 * 60_000;

type Group = "all" | "waiting" | "paused" | "unserved";

const GROUPS: Record<Group, { label: string; has(queue: QueueView): boolean }> = {
  all: { label: "All", has: () => true },
  waiting: { label: "With waiting runs", has: (queue) => waitingOf(queue).value > 0 },
  paused: { label: "Paused", has: (queue) => queue.pause !== null },
  unserved: { label: "Without a worker", has: (queue) => queue.workers === 0 },
};

/** Every queue, the one whose first run has waited longest first. */
export function QueuesPage() {
  const resource = useResource("GET /queues", {}, COUNTS);
  return (
    <Page title="Queues">
      <Loaded resource={resource}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon="ready" title="No queues yet">
              <p>A queue exists once a worker defines a job for it, or a run was dispatched to it:</p>
              <CommandLine command="punctual work" />
            </Empty>
          ) : (
            <QueueList queues={items} refresh={resource.refresh} />
          )
        }
      </Loaded>
    </Page>
  );
}

function QueueList({ queues, refresh }: { queues: QueueView[]; refresh(): void }) {
  const filter = useFilter();
  const group = useSignal<Group>("all");
  const found = queues.filter((queue) => GROUPS[group.value].has(queue) && filter.matches(queue.name));
  const { sorted, order, sortOf } = useSort(
    found,
    {
      name: (queue) => queue.name,
      oldest: (queue) => queue.oldest && Date.parse(queue.oldest),
      waiting: (queue) => -waitingOf(queue).value,
      running: (queue) => -queue.running,
    },
    { key: "oldest", direction: "ascending" },
  );
  const rows = useSteadyRows(sorted, (queue) => queue.name, `${order} ${group.value} ${filter.text}`);
  const columns: Column<QueueView>[] = [
    {
      key: "state",
      title: "State",
      card: "lead",
      cell: (queue) => <QueueState queue={queue} />,
    },
    {
      key: "name",
      title: "Queue",
      card: "lead",
      sort: sortOf("name"),
      cell: (queue) => <QueueLink name={queue.name} />,
    },
    {
      key: "oldest",
      title: "Oldest waits",
      align: "end",
      card: "end",
      sort: sortOf("oldest"),
      cell: (queue) => <Oldest queue={queue} />,
    },
    {
      key: "waiting",
      title: "Waiting",
      align: "end",
      cardLabel: "waiting",
      sort: sortOf("waiting"),
      cell: (queue) => (
        <Link to={runsPath(term("queue", queue.name), waitingTerm(queue))}>
          {formatCount(waitingOf(queue))}
        </Link>
      ),
    },
    {
      key: "scheduled",
      title: "Scheduled",
      align: "end",
      cardLabel: "scheduled",
      cell: (queue) => (
        <Link to={runsPath(term("queue", queue.name), laterTerm(queue))}>{formatCount(laterOf(queue))}</Link>
      ),
    },
    {
      key: "running",
      title: "Running",
      align: "end",
      cardLabel: "running",
      sort: sortOf("running"),
      cell: (queue) => <Running queue={queue} />,
    },
    ...useRateColumn(queues),
    {
      key: "hour",
      title: "Last hour",
      card: "hide",
      cell: (queue) => <Sparkline points={queue.spark} label="Last hour" />,
    },
    {
      key: "rate",
      title: "Completed per min",
      align: "end",
      card: "hide",
      cell: ({ name, perMinute }) => (
        <Link to={runsPath(term("queue", name), "state:completed", "after:1h")}>
          {formatCompact(perMinute.completed)}
        </Link>
      ),
    },
    {
      key: "failrate",
      title: "Failed per min",
      align: "end",
      card: "hide",
      cell: ({ name, perMinute }) => (
        <Link
          class={perMinute.failed > 0 ? "hot" : "muted"}
          to={runsPath(term("queue", name), "state:failed", "after:1h")}
        >
          {formatCompact(perMinute.failed)}
        </Link>
      ),
    },
    {
      key: "workers",
      title: "Workers",
      align: "end",
      card: "hide",
      cell: (queue) => (
        <Link class={queue.workers === 0 ? "hot" : ""} to="/workers">
          {queue.workers}
        </Link>
      ),
    },
    {
      key: "actions",
      title: "Actions",
      hideTitle: true,
      align: "end",
      cell: (queue) => <QueueActions queue={queue} refresh={refresh} small />,
    },
  ];
  return (
    <section class="panel" aria-label="Queues">
      <FilterBar
        filter={filter}
        label="Filter queues"
        groups={Object.entries(GROUPS).map(([key, { label, has }]) => ({
          value: key as Group,
          label,
          count: queues.filter(has).length,
        }))}
        group={group.value}
        onGroup={(value) => {
          group.value = value;
        }}
      />
      <DataTable
        caption="Queues"
        columns={columns}
        rows={rows}
        rowKey={(queue) => queue.name}
        below={(queue) => queue.pause && <PauseNote pause={queue.pause} />}
        keys
      />
      {rows.length === 0 && <p class="panel-content muted">No queue matches.</p>}
    </section>
  );
}

/** A column with the starts that are spent, if a queue has a rate. */
function useRateColumn(queues: QueueView[]): Column<QueueView>[] {
  const enabled = queues.some(({ rate }) => rate !== null);
  const resource = useResource("GET /rates", { query: { kind: "queue" } }, { enabled, every: 1_000 });
  const rates = new Map(resource.data?.items.map((rate) => [rate.queue, rate]));
  // Starts leave the window without any change of a run.
  useRefresh(
    resource,
    [...rates.values()].some(({ spent }) => spent > 0),
  );
  if (!enabled) return [];
  return [
    {
      key: "spent",
      title: "Starts",
      align: "end",
      cardLabel: "starts",
      cell: ({ name, rate }) => {
        const spent = rates.get(name);
        if (rate === null) return <span class="muted none">—</span>;
        return <span title={`At most ${rate}`}>{spent ? <Spent rate={spent} /> : rate}</span>;
      },
    },
  ];
}

/** How long the first run that has not begun has been due. */
export function Oldest({ queue }: { queue: QueueView }) {
  if (queue.oldest === null) return <span class="muted none">—</span>;
  const late = now.value - Date.parse(queue.oldest) > LATE_AFTER && queue.pause === null;
  return (
    <Link class={late ? "hot" : ""} to={runsPath(term("queue", queue.name), waitingTerm(queue))}>
      <Time at={queue.oldest} as="age" />
    </Link>
  );
}

export function Running({ queue }: { queue: QueueView }) {
  return (
    <span class="gauge-cell">
      <Link to={runsPath(term("queue", queue.name), "is:running")}>
        {queue.running}
        {queue.limit > 0 && <span class="muted"> / {queue.limit}</span>}
      </Link>
      {queue.limit > 0 && <Gauge used={queue.running} total={queue.limit} label="Limit in use" />}
    </span>
  );
}
