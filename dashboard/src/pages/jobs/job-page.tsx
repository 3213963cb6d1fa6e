import { useSignal } from "@preact/signals";
import type { JobDetail, Span } from "../../../../src/dashboard/api/contract.ts";
import { request } from "../../api/client.ts";
import { COUNTS, useResource } from "../../api/resource.ts";
import { Strip } from "../../charts/strip.tsx";
import { Trend } from "../../charts/trend.tsx";
import { Breadcrumb } from "../../components/breadcrumb.tsx";
import { Button } from "../../components/button.tsx";
import { Facts, Figures } from "../../components/facts.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Name, QueueLink, runsPath } from "../../components/names.tsx";
import { Page } from "../../components/page.tsx";
import { Panel } from "../../components/panel.tsx";
import { PauseButton, PauseNote } from "../../components/pause-dialog.tsx";
import { RatesPanel } from "../../components/rates-panel.tsx";
import { Duration, Time } from "../../components/time.tsx";
import { quoteForShell } from "../../query/command.ts";
import { Link } from "../../router/link.tsx";
import { may } from "../../state/meta.ts";
import { formatCount, formatNumber } from "../../text/number.ts";
import { term } from "../../text/query.ts";
import { visibleText } from "../../text/visible.ts";
import { FailureList } from "../failures/failure-list.tsx";
import { ScheduleTable } from "../schedules/schedule-table.tsx";
import { DispatchDialog } from "./dispatch-dialog.tsx";
import { FailedAttempts, failedPath, JobState } from "./jobs-page.tsx";

/** One job: its settings, rates, failures, schedules and last runs. */
export function JobPage({ name }: { name: string }) {
  const over = useSignal<Span>("24h");
  const resource = useResource("GET /jobs/:name", { params: { name }, query: { over: over.value } }, COUNTS);
  return (
    <Page
      title={visibleText(name)}
      above={<Breadcrumb>{[<Link to="/jobs">Jobs</Link>, <Name>{name}</Name>]}</Breadcrumb>}
      beside={resource.data && <JobState job={resource.data} />}
      actions={resource.data && <Actions job={resource.data} refresh={resource.refresh} />}
    >
      <Loaded
        resource={resource}
        missing={{
          what: "job",
          name,
          all: "jobs",
          why: "No worker has defined it, and it was never dispatched.",
        }}
      >
        {(job) => (
          <JobView
            job={job}
            over={over.value}
            onOver={(span) => {
              over.value = span;
            }}
            refresh={resource.refresh}
          />
        )}
      </Loaded>
    </Page>
  );
}

function Actions({ job, refresh }: { job: JobDetail; refresh(): void }) {
  const asked = useSignal(false);
  if (!may("operator")) return null;
  const { name } = job;
  return (
    <>
      <PauseButton
        paused={job.pause !== null}
        what={`job ${visibleText(name)}`}
        target={`job ${quoteForShell(name)}`}
        send={(action, body) =>
          request(`POST /jobs/:name/${action}` as "POST /jobs/:name/pause", { params: { name }, body })
        }
        onDone={refresh}
      >
        No run of it starts, and its schedules do not tick, until it is resumed. Running runs continue.
      </PauseButton>
      <Button
        kind="primary"
        icon="play"
        onClick={() => {
          asked.value = true;
        }}
      >
        Dispatch…
      </Button>
      {asked.value && (
        <DispatchDialog
          job={job}
          onClose={() => {
            asked.value = false;
          }}
        />
      )}
    </>
  );
}

interface JobViewProps {
  job: JobDetail;
  over: Span;
  onOver(span: Span): void;
  refresh(): void;
}

function JobView({ job, over, onOver, refresh }: JobViewProps) {
  const own = term("job", job.name);
  const { took, completed, failed, retried } = job.last24h;
  return (
    <>
      {job.pause && (
        <p class="callout callout-paused">
          <PauseNote pause={job.pause} />
        </p>
      )}
      <Figures
        figures={[
          [
            "Running",
            <Link to={runsPath(own, "is:running")}>
              {job.running}
              {job.limit > 0 && <small> of {job.limit}</small>}
            </Link>,
          ],
          ["Waiting", <Link to={runsPath(own, "is:waiting")}>{formatCount(job.waiting)}</Link>],
          [
            "Completed attempts · 24 h",
            <Link to={runsPath(own, "state:completed", "after:24h")}>{formatNumber(completed)}</Link>,
          ],
          [
            "Failed attempts · 24 h",
            <>
              <FailedAttempts job={job} to={runsPath(own, "is:retrying")} />
              {retried > 0 && failed > 0 && (
                <Link to={failedPath(job)}>
                  <small> {formatNumber(failed)} for good</small>
                </Link>
              )}
            </>,
          ],
          ["p50 · 24 h", <Duration ms={took?.p50 ?? null} />],
          ["p95 · 24 h", <Duration ms={took?.p95 ?? null} />],
        ]}
      />
      <Trend trend={job.trend} over={over} onOver={onOver} q={own} />
      <div class="columns">
        <div class="stack">
          <RatesPanel job={job.name} queue={job.queue} />
          {job.schedules.length > 0 && (
            <Panel title="Schedules" flush>
              <ScheduleTable schedules={job.schedules} refresh={refresh} ofJob />
            </Panel>
          )}
          {job.failures.length > 0 && (
            <Panel title="Failures" flush>
              <FailureList groups={job.failures} refresh={refresh} />
            </Panel>
          )}
          <Panel title="Last finished runs" aside={<Link to={runsPath(own)}>all runs</Link>}>
            <Strip label="Last finished runs" runs={job.recent.toReversed()} />
          </Panel>
        </div>
        <Panel title="Settings">
          <Facts
            facts={[
              ["Queue", <QueueLink name={job.queue} />],
              ["Priority", job.priority],
              ["Runs at once", job.limit === 0 ? "no limit" : job.limit],
              ["Runs at once per key", job.keyLimit > 0 && job.keyLimit],
              ["Under the limit", job.under && visibleText(`${job.under.name}: ${job.under.words}`)],
              ["Starts at most", job.rate],
              ["Starts at most per key", job.keyRate],
              ["Last success", <Time at={job.lastRun} />],
              ["Last failure", job.lastFailure !== null && <Time at={job.lastFailure} />],
              ["Fails in a row", job.fails > 0 && <span class="warm">{job.fails}</span>],
              ["Next run", job.nextRun !== null && <Time at={job.nextRun} />],
              [
                "Defined",
                job.seenAt === null ? (
                  "by no worker yet"
                ) : (
                  <>
                    by a worker <Time at={job.seenAt} />
                  </>
                ),
              ],
              ["Place", job.definedAt !== null && <code>{visibleText(job.definedAt)}</code>],
              ...otherSettings(job),
            ]}
          />
        </Panel>
      </div>
    </>
  );
}

/** Facts that the page takes from the job's row. */
const OWN_FACTS = ["Queue", "Priority", "Runs at once", "Runs at once per key"];

function otherSettings({ settings }: JobDetail): [name: string, value: string][] {
  return Object.entries(settings ?? {}).filter(([name]) => !OWN_FACTS.includes(name));
}
