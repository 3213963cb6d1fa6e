import type { JobView } from "../../../../src/dashboard/api/contract.ts";
import { COUNTS, useResource } from "../../api/resource.ts";
import { Sparkline } from "../../charts/sparkline.tsx";
import { CommandLine } from "../../components/copy-button.tsx";
import { FilterBar, useFilter, useGroup } from "../../components/filter-bar.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { JobLink, Name, QueueLink, runsPath } from "../../components/names.tsx";
import { Page } from "../../components/page.tsx";
import { PauseNote } from "../../components/pause-dialog.tsx";
import { Empty } from "../../components/problem.tsx";
import { StateBadge } from "../../components/state-badge.tsx";
import { useSteadyRows } from "../../components/steady-rows.ts";
import { type Column, DataTable } from "../../components/table.tsx";
import { Duration, Time } from "../../components/time.tsx";
import { useSort } from "../../components/use-sort.ts";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { formatCount, formatNumber } from "../../text/number.ts";
import { term } from "../../text/query.ts";
import { now } from "../../time/clock.ts";

/** Workers look for due ticks every few seconds: only an older one is overdue. */
const LATE_AFTER = 60_000;

type Group = "all" | "failing" | "paused" | "undefined";

/** As the health of the whole counts them: muted errors are known. */
function isFailing({ fails, muted }: JobView): boolean {
  return fails > 0 && !muted;
}

const GROUPS: Record<Group, { label: string; has(job: JobView): boolean }> = {
  all: { label: "All", has: () => true },
  failing: { label: "Failing", has: isFailing },
  paused: { label: "Paused", has: (job) => job.pause !== null },
  undefined: { label: "Without a worker", has: (job) => job.undefined },
};

/** Every job that workers define, or that was dispatched. */
export function JobsPage() {
  const resource = useResource("GET /jobs", {}, COUNTS);
  return (
    <Page title="Jobs">
      <Loaded resource={resource}>
        {({ items }) => (items.length === 0 ? <NoJobs /> : <JobList jobs={items} />)}
      </Loaded>
    </Page>
  );
}

/** Of the last 24 hours, also of runs that are tried again. */
function failedAttempts({ last24h: { failed, retried } }: JobView): number {
  return failed + retried;
}

export function failedPath({ name }: JobView): string {
  return runsPath(term("job", name), "state:failed", "after:24h");
}

/** `to` explains attempts that were tried again: a list of failed runs does not. */
export function FailedAttempts({ job, to }: { job: JobView; to: string }) {
  const count = failedAttempts(job);
  return (
    <Link class={count > 0 ? "hot" : "muted"} to={job.last24h.retried > 0 ? to : failedPath(job)}>
      {formatNumber(count)}
    </Link>
  );
}

function JobList({ jobs }: { jobs: JobView[] }) {
  const filter = useFilter();
  const { group, onGroup } = useGroup(Object.keys(GROUPS) as Group[]);
  const found = jobs.filter((job) => GROUPS[group].has(job) && filter.matches(job.name, job.queue));
  const { sorted, order, sortOf } = useSort(
    found,
    {
      name: (job) => job.name,
      waiting: (job) => -job.waiting.value,
      completed: (job) => -job.last24h.completed,
      failed: (job) => -failedAttempts(job),
      took: (job) => (job.last24h.took ? -job.last24h.took.p95 : null),
      last: (job) => job.lastRun && -Date.parse(job.lastRun),
    },
    { key: "name", direction: "ascending" },
  );
  const rows = useSteadyRows(sorted, (job) => job.name, `${order} ${group} ${filter.text}`);
  const columns: Column<JobView>[] = [
    { key: "state", title: "State", card: "lead", cell: (job) => <JobState job={job} /> },
    {
      key: "name",
      title: "Job",
      card: "lead",
      sort: sortOf("name"),
      cell: (job) => <JobLink name={job.name} />,
    },
    { key: "queue", title: "Queue", cell: (job) => <QueueLink name={job.queue} /> },
    {
      key: "running",
      title: "Running",
      align: "end",
      cardLabel: "running",
      cell: (job) => (
        <Link to={runsPath(term("job", job.name), "is:running")}>
          {job.running}
          {job.limit > 0 && <span class="muted"> / {job.limit}</span>}
        </Link>
      ),
    },
    {
      key: "waiting",
      title: "Waiting",
      align: "end",
      cardLabel: "waiting",
      sort: sortOf("waiting"),
      cell: (job) => (
        <Link to={runsPath(term("job", job.name), "is:waiting")}>{formatCount(job.waiting)}</Link>
      ),
    },
    {
      key: "hour",
      title: "Last hour",
      card: "hide",
      cell: (job) => <Sparkline points={job.spark} label="Last hour" />,
    },
    {
      key: "completed",
      title: "Completed · 24 h",
      align: "end",
      card: "hide",
      sort: sortOf("completed"),
      cell: (job) => (
        <Link to={runsPath(term("job", job.name), "state:completed", "after:24h")}>
          {formatNumber(job.last24h.completed)}
        </Link>
      ),
    },
    {
      key: "failed",
      title: "Failed attempts · 24 h",
      align: "end",
      cardLabel: "failed",
      sort: sortOf("failed"),
      cell: (job) => <FailedAttempts job={job} to={pathTo("/jobs/:name", { name: job.name })} />,
    },
    {
      key: "times",
      title: "p50 / p95",
      align: "end",
      card: "hide",
      sort: sortOf("took"),
      cell: ({ last24h: { took } }) =>
        took ? (
          <>
            <Duration ms={took.p50} /> <span class="muted">/</span> <Duration ms={took.p95} />
          </>
        ) : (
          <span class="muted">—</span>
        ),
    },
    {
      key: "last",
      title: "Last success",
      card: "end",
      sort: sortOf("last"),
      cell: (job) => <Time at={job.lastRun} />,
    },
    { key: "nextrun", title: "Next", card: "hide", cell: (job) => <Next job={job} /> },
  ];
  return (
    <section class="panel" aria-label="Jobs">
      <FilterBar
        filter={filter}
        label="Filter jobs"
        groups={Object.entries(GROUPS).map(([key, { label, has }]) => ({
          value: key as Group,
          label,
          count: jobs.filter(has).length,
        }))}
        group={group}
        onGroup={onGroup}
      />
      <DataTable
        caption="Jobs"
        columns={columns}
        rows={rows}
        rowKey={(job) => job.name}
        below={(job) => noteOf(job)}
        keys
      />
      {rows.length === 0 && <p class="panel-content muted">No job matches.</p>}
    </section>
  );
}

export function JobState({ job }: { job: JobView }) {
  if (job.pause) return <StateBadge tone="paused" />;
  if (job.undefined)
    return <StateBadge tone="late" label="no worker" title="No live worker defines this job" />;
  if (isFailing(job)) return <StateBadge tone="failed" label="failing" />;
  if (job.muted)
    return <StateBadge tone="skipped" label="muted" icon="muted" title="It fails with a muted error" />;
  if (job.running > 0) return <StateBadge tone="running" />;
  return <StateBadge tone="ready" label="active" icon="play" />;
}

/** The next tick; one that is overdue stands out. */
function Next({ job: { nextRun, pause } }: { job: JobView }) {
  const overdue = nextRun !== null && pause === null && Date.parse(nextRun) < now.value - LATE_AFTER;
  return (
    <span class={overdue ? "warm" : ""}>
      <Time at={nextRun} />
    </span>
  );
}

/** A line below a job that has a problem. */
function noteOf(job: JobView) {
  if (job.pause) return <PauseNote pause={job.pause} />;
  if (job.fails === 0 || job.lastError === null) return null;
  return (
    <>
      {job.fails} failed in a row, the last <Time at={job.lastFailure} />: <Name>{job.lastError}</Name>
    </>
  );
}

function NoJobs() {
  return (
    <Empty icon="worker" title="No jobs yet">
      <p>A job appears here when a worker that defines it starts, or when it is dispatched. A job file:</p>
      <pre class="code">{`import { Job } from "punctual";

Job.define("hello", async ({ name = "you" }, run) => {
  run.log(\`Hello, \${name}\`);
});`}</pre>
      <CommandLine command="punctual work --jobs jobs/hello.ts" />
    </Empty>
  );
}
