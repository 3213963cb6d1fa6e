import type { QueueView } from "../../../../src/dashboard/api/contract.ts";
import { Sparkline } from "../../charts/sparkline.tsx";
import { Name } from "../../components/names.tsx";
import { Panel } from "../../components/panel.tsx";
import { PauseNote } from "../../components/pause-dialog.tsx";
import { type Column, DataTable } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { refreshOverview } from "../../live/live.ts";
import { quoteValue } from "../../query/terms.ts";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { formatCompact, formatCount, formatNumber } from "../../text/number.ts";
import { waitingOf, waitingTerm } from "../../text/waiting.ts";
import { QueueActions } from "../queues/queue-actions.tsx";
import { QueueState } from "../queues/queue-state.tsx";

/** Path of the list of the runs of a queue that match a term. */
function runsOf({ name }: QueueView, term: string): string {
  return pathTo("/runs", {}, { q: `queue:${quoteValue(name)} ${term}` });
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
      <Link to={runsOf(queue, waitingTerm(queue))}>
        <Time at={queue.oldest} as="age" />
      </Link>
    ),
  },
  {
    key: "waiting",
    title: "Waiting",
    align: "end",
    cardLabel: "waiting",
    cell: (queue) => <Link to={runsOf(queue, waitingTerm(queue))}>{formatCount(waitingOf(queue))}</Link>,
  },
  {
    key: "running",
    title: "Running",
    align: "end",
    cardLabel: "running",
    cell: (queue) => (
      <Link to={runsOf(queue, "state:running")}>
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
        <Link to={runsOf(queue, "state:completed")}>{formatCompact(queue.perMinute.completed)}</Link>
        <Sparkline points={queue.spark} label="Runs of the last hour" />
      </span>
    ),
  },
  {
    key: "failrate",
    title: "Failed per min",
    align: "end",
    card: "hide",
    cell: (queue) => (
      <Link to={runsOf(queue, "state:failed")} class={queue.perMinute.failed > 0 ? "state-failed" : "muted"}>
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
