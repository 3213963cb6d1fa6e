import { useSignal } from "@preact/signals";
import type { QueueDetail, Span } from "../../../../src/dashboard/api/contract.ts";
import { COUNTS, useResource } from "../../api/resource.ts";
import { Trend } from "../../charts/trend.tsx";
import { Breadcrumb } from "../../components/breadcrumb.tsx";
import { CommandLine } from "../../components/copy-button.tsx";
import { Figures } from "../../components/facts.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { JobLink, Name, runsPath } from "../../components/names.tsx";
import { Page } from "../../components/page.tsx";
import { Panel } from "../../components/panel.tsx";
import { PauseNote } from "../../components/pause-dialog.tsx";
import { RatesPanel } from "../../components/rates-panel.tsx";
import { quoteForShell } from "../../query/command.ts";
import { Link } from "../../router/link.tsx";
import { formatCompact, formatCount, formatNumber } from "../../text/number.ts";
import { term } from "../../text/query.ts";
import { visibleText } from "../../text/visible.ts";
import { laterOf, laterTerm, waitingOf, waitingTerm } from "../../text/waiting.ts";
import { formatDuration } from "../../time/format.ts";
import { QueueActions } from "./queue-actions.tsx";
import { QueueState } from "./queue-state.tsx";
import { Oldest, Running } from "./queues-page.tsx";

/** One queue: how far behind it is, what runs from it, and whose jobs use it. */
export function QueuePage({ name }: { name: string }) {
  const over = useSignal<Span>("6h");
  const resource = useResource(
    "GET /queues/:name",
    { params: { name }, query: { over: over.value } },
    COUNTS,
  );
  return (
    <Page
      title={visibleText(name)}
      above={<Breadcrumb>{[<Link to="/queues">Queues</Link>, <Name>{name}</Name>]}</Breadcrumb>}
      beside={resource.data && <QueueState queue={resource.data} />}
      actions={resource.data && <QueueActions queue={resource.data} refresh={resource.refresh} />}
    >
      <Loaded
        resource={resource}
        missing={{ what: "queue", name, all: "queues", why: "No job uses it, and no run waits in it." }}
      >
        {(queue) => (
          <>
            {queue.pause && (
              <p class="callout callout-paused">
                <PauseNote pause={queue.pause} />
              </p>
            )}
            {queue.workers === 0 && waitingOf(queue).value > 0 && <Unserved name={name} />}
            <Figures figures={figuresOf(queue)} />
            <Trend
              trend={queue.trend}
              q={term("queue", queue.name)}
              over={over.value}
              onOver={(span) => {
                over.value = span;
              }}
            />
            <RatesPanel queue={name} />
            <Panel title="Jobs of this queue">
              {queue.jobs.length === 0 ? (
                <p class="muted">No job uses this queue by default.</p>
              ) : (
                <ul class="names">
                  {queue.jobs.map((job) => (
                    <li key={job}>
                      <JobLink name={job} />
                    </li>
                  ))}
                </ul>
              )}
            </Panel>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function figuresOf(queue: QueueDetail): Parameters<typeof Figures>[0]["figures"] {
  const own = term("queue", queue.name);
  return [
    ["Oldest waits", <Oldest queue={queue} />],
    ["Waiting", <Link to={runsPath(own, waitingTerm(queue))}>{formatCount(waitingOf(queue))}</Link>],
    ["Scheduled", <Link to={runsPath(own, laterTerm(queue))}>{formatCount(laterOf(queue))}</Link>],
    ["Running", <Running queue={queue} />],
    ...orderOf(queue),
    [
      "Failed per min",
      <Link class={queue.perMinute.failed > 0 ? "hot" : ""} to={runsPath(own, "state:failed", "after:1h")}>
        {formatCompact(queue.perMinute.failed)}
      </Link>,
    ],
    [
      "Workers",
      <Link class={queue.workers === 0 ? "hot" : ""} to="/workers">
        {formatNumber(queue.workers)}
      </Link>,
    ],
  ];
}

/** In which order its runs start, if a definition says so. */
function orderOf({ fair, patience }: QueueDetail): Parameters<typeof Figures>[0]["figures"] {
  if (!fair && patience === null) return [];
  const words = [
    fair ? "lanes take turns" : "",
    patience === null ? "" : `patience ${formatDuration(patience)}`,
  ];
  return [["Order", words.filter((one) => one !== "").join(", ")]];
}

function Unserved({ name }: { name: string }) {
  return (
    <div class="callout callout-problem stack-tight">
      <p>No live worker serves this queue, and runs wait. Start one:</p>
      <CommandLine command={`punctual work --queues ${quoteForShell(name)}`} />
    </div>
  );
}
