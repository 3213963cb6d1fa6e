import type { QueueView } from "../../../../src/dashboard/api/contract.ts";
import { Sparkline } from "../../charts/sparkline.tsx";
import { Name } from "../../components/names.tsx";
import { Panel } from "../../components/panel.tsx";
import { PauseNote } from "../../components/pause-dialog.tsx";
import { PauseState, StateBadge } from "../../components/state-badge.tsx";
import { type Column, DataTable } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { refreshOverview } from "../../live/live.ts";
import { quoteValue } from "../../query/terms.ts";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { formatCompact, formatCount, formatNumber } from "../../text/number.ts";
import { QueueActions } from "../queues/queue-actions.tsx";

/** Query that finds the runs of a queue in a state. */
function runsOf({ name }: QueueView, state: string): string {
  return pathTo("/runs", {}, { q: `queue:${quoteValue(name)} state:${state}` });
}

/** Whether runs wait although no live worker serves the queue. */
function isStalled({ ready, workers, pause }: QueueView): boolean {
  return pause === null && workers === 0 && ready.value > 0;
}

function QueueState({ queue }: { queue: QueueView }) {
  if (isStalled(queue))
    return (
      <StateBadge tone="failed" label="no worker" title="Runs wait, and no live worker serves the queue" />
    );
  return <PauseState paused={queue.pause !== null} />;
}

const COLUMNS: readonly Column<QueueView>[] = [
  {
    key: "name",
    title: "Queue",
    card: "lead",
    cell: ({ name }) => (
      <Link to={pathTo("/queues/:name", { name })} class="strong">
        <Name>{name}</Name>
      </Link>
    ),
  },
  { key: "state", title: "State", card: "end", cell: (queue) => <QueueState queue={queue} /> },
  {
    key: "oldest",
    title: "Oldest waits",
    align: "end",
    cardLabel: "oldest",
    cell: (queue) => (
      <Link to={runsOf(queue, "ready")}>
        <Time at={queue.oldest} as="age" />
      </Link>
    ),
  },
  {
    key: "waiting",
    title: "Waiting",
    align: "end",
    cardLabel: "waiting",
    cell: (queue) => <Link to={runsOf(queue, "ready")}>{formatCount(queue.ready)}</Link>,
  },
  {
    key: "running",
    title: "Running",
    align: "end",
    cardLabel: "running",
    cell: (queue) => (
      <Link to={runsOf(queue, "running")}>
        {formatNumber(queue.running)}
        {queue.limit > 0 && <span class="muted"> / {formatNumber(queue.limit)}</span>}
      </Link>
    ),
  },
  {
    key: "rate",
    title: "Completed per min",
    align: "end",
    cardLabel: "per min",
    cell: (queue) => (
      <span class="figure-spark">
        <Link to={runsOf(queue, "completed")}>{formatCompact(queue.perMinute.completed)}</Link>
        <Sparkline points={queue.spark} label="Runs of the last hour" />
      </span>
    ),
  },
  {
    key: "failed",
    title: "Failed per min",
    align: "end",
    card: "hide",
    cell: (queue) => (
      <Link to={runsOf(queue, "failed")} class={queue.perMinute.failed > 0 ? "state-failed" : "muted"}>
        {formatCompact(queue.perMinute.failed)}
      </Link>
    ),
  },
  {
    key: "workers",
    title: "Workers",
    align: "end",
    card: "hide",
    cell: ({ workers }) => <Link to="/workers">{formatNumber(workers)}</Link>,
  },
  {
    key: "note",
    title: "Note",
    hideTitle: true,
    cell: ({ pause }) => pause && <PauseNote pause={pause} />,
  },
  {
    key: "actions",
    title: "Actions",
    hideTitle: true,
    align: "end",
    card: "hide",
    cell: (queue) => <QueueActions queue={queue} refresh={refreshOverview} small />,
  },
];

export function QueuesPanel({ queues }: { queues: readonly QueueView[] }) {
  if (queues.length === 0) return null;
  return (
    <Panel title="Queues" aside={<Link to="/queues">All queues</Link>} flush>
      <DataTable caption="Queues" columns={COLUMNS} rows={queues} rowKey={({ name }) => name} keys />
    </Panel>
  );
}
