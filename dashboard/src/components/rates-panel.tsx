import type { ComponentChildren } from "preact";
import type { RateView } from "../../../src/dashboard/api/contract.ts";
import { useResource } from "../api/resource.ts";
import { useRefresh } from "../api/use-refresh.ts";
import { Gauge } from "../charts/gauge.tsx";
import { Link } from "../router/link.tsx";
import { formatNumber } from "../text/number.ts";
import { term } from "../text/query.ts";
import { now } from "../time/clock.ts";
import { Name, QueueLink, runsPath } from "./names.tsx";
import { Panel } from "./panel.tsx";
import { type Column, DataTable } from "./table.tsx";
import { Time } from "./time.tsx";

interface RatesPanelProps {
  /** Undefined: the page of the queue. */
  job?: string;
  queue: string;
}

/** The rates of a job and its queue, or of a queue: what is spent, when each opens, and which keys are closed. */
export function RatesPanel({ job, queue }: RatesPanelProps) {
  const query = job === undefined ? { queue } : { job, queue };
  const resource = useResource("GET /rates", { query }, { every: 1_000 });
  const { items = [], capped = false } = resource.data ?? {};
  // Starts leave the window without any change of a run.
  useRefresh(
    resource,
    items.some(({ spent }) => spent > 0),
  );
  if (items.length === 0) return null;
  const keys = items.filter(({ key }) => key !== null);
  const columns: Column<RateView>[] = [
    { key: "of", title: "Of", card: "lead", cell: (rate) => subjectOf(rate, job === undefined) },
    ...COLUMNS,
  ];
  return (
    <Panel title="Rates" aside={keys.length > 0 && closedText(keys, capped)} flush>
      <DataTable
        caption="Rates"
        columns={columns}
        rows={items.filter((rate) => rate.key === null || isClosed(rate))}
        rowKey={({ subject }) => subject}
      />
    </Panel>
  );
}

function isClosed({ opensAt }: RateView): boolean {
  return opensAt !== null && Date.parse(opensAt) > now.value;
}

/** Counts the closed keys, among those that have started runs lately. */
function closedText(keys: RateView[], capped: boolean): string {
  return `${keys.filter(isClosed).length} of ${capped ? "at least " : ""}${keys.length} keys closed`;
}

/** Kinds of rates that this page does not know are shown in words. */
function subjectOf({ job, key, queue, subject }: RateView, ofQueue: boolean): ComponentChildren {
  if (job !== null && key !== null)
    return (
      <>
        key{" "}
        <Link to={runsPath(term("job", job), term("key", key), "is:waiting")}>
          <Name>{key}</Name>
        </Link>
      </>
    );
  if (job !== null) return "this job";
  if (queue === null) return <Name>{subject}</Name>;
  if (ofQueue) return "this queue";
  return (
    <>
      queue <QueueLink name={queue} />
    </>
  );
}

const COLUMNS: Column<RateView>[] = [
  { key: "words", title: "Starts at most", cell: ({ words }) => words },
  { key: "spent", title: "Spent", align: "end", cardLabel: "spent", cell: (rate) => <Spent rate={rate} /> },
  {
    key: "opens",
    title: "Next start",
    card: "end",
    cell: (rate) => <NextStart rate={rate} />,
  },
];

function NextStart({ rate }: { rate: RateView }) {
  if (!isClosed(rate)) return <span class="muted">now</span>;
  return (
    <>
      <Time at={rate.opensAt} />
      {rate.slowedUntil && <span class="muted"> slowed down</span>}
    </>
  );
}

/** The starts in the window that ends now. */
export function Spent({ rate: { spent, limit } }: { rate: RateView }) {
  return (
    <span class="gauge-cell">
      <span>
        {formatNumber(spent)}
        <span class="muted"> / {formatNumber(limit)}</span>
      </span>
      <Gauge used={spent} total={limit} label="Starts spent" />
    </span>
  );
}
