import type { RunDetail } from "../../../../src/dashboard/api/contract.ts";
import { useResource } from "../../api/resource.ts";
import { useRefresh } from "../../api/use-refresh.ts";
import { Progress } from "../../charts/progress.tsx";
import { Timeline, TimelineLegend } from "../../charts/timeline.tsx";
import { Breadcrumb } from "../../components/breadcrumb.tsx";
import { Button } from "../../components/button.tsx";
import { Icon } from "../../components/icon.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { JobLink, Name, QueueLink } from "../../components/names.tsx";
import { Page } from "../../components/page.tsx";
import { Panel } from "../../components/panel.tsx";
import { RunState } from "../../components/state-badge.tsx";
import { Elapsed, Time } from "../../components/time.tsx";
import { useKeys } from "../../keyboard/keys.ts";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { navigate } from "../../router/router.ts";
import { formatCount } from "../../text/number.ts";
import { visibleText } from "../../text/visible.ts";
import { formatDuration } from "../../time/format.ts";
import { RunActions } from "./run-actions.tsx";
import { RunFacts } from "./run-facts.tsx";
import { RunTabs } from "./run-tabs.tsx";

/** One run: what happened, why, and what can be done about it. */
export function RunPage({ id }: { id: string }) {
  const resource = useResource("GET /runs/:id", { params: { id } });
  // The overview's version does not show the progress of a running run.
  useRefresh(resource, resource.data?.state === "running");
  const title = resource.data ? `${visibleText(resource.data.job)} ${id}` : `Run ${id}`;
  return (
    <Page title={title} hideTitle={resource.data !== null}>
      <Loaded
        resource={resource}
        missing={{
          what: "run",
          name: id,
          all: "runs",
          why: "It was deleted, perhaps by retention: finished runs are kept for a day, failed ones for 30 days, unless their job says otherwise with keep().",
        }}
      >
        {(run) => <RunView run={run} refresh={resource.refresh} />}
      </Loaded>
    </Page>
  );
}

function RunView({ run, refresh }: { run: RunDetail; refresh(): void }) {
  return (
    <>
      <Breadcrumb aside={<Neighbours run={run} />}>
        {[<Link to="/runs">Runs</Link>, <JobLink name={run.job} />, String(run.id)]}
      </Breadcrumb>
      <header class="run-head">
        <div class="run-title">
          <RunState run={run} />
          <strong class="run-job">
            <Name>{run.job}</Name>
          </strong>
          <span class="run-context">
            <span>
              queue <QueueLink name={run.queue} />
            </span>
            <span>priority {run.priority}</span>
            {run.worker !== null && <span>worker {run.worker}</span>}
            <span>
              <Moment run={run} />
            </span>
          </span>
        </div>
        {run.progress && run.state === "running" && <Progress progress={run.progress} />}
        <RunActions run={run} refresh={refresh} />
        <Why run={run} />
      </header>
      {run.attempts.length > 0 && (
        <Panel
          title="Attempts"
          aside={
            <>
              <Total run={run} />
              <TimelineLegend />
            </>
          }
        >
          <Timeline run={run} />
        </Panel>
      )}
      <div class="run-columns">
        <RunTabs run={run} />
        <RunFacts run={run} />
      </div>
    </>
  );
}

/** When it is due, began or ended: what matters most in its state. */
function Moment({ run }: { run: RunDetail }) {
  if (run.finishedAt !== null) {
    return (
      <>
        finished <Time at={run.finishedAt} />
      </>
    );
  }
  if (run.state === "running" && run.startedAt !== null) {
    return (
      <>
        running for <Elapsed since={run.startedAt} />
      </>
    );
  }
  return (
    <>
      due <Time at={run.runAt} />
    </>
  );
}

function Total({ run }: { run: RunDetail }) {
  const created = Date.parse(run.createdAt);
  return (
    <span>
      dispatched <Time at={run.createdAt} as="short" />
      {run.finishedAt !== null && ` · total ${formatDuration(Date.parse(run.finishedAt) - created)}`}
    </span>
  );
}

function Why({ run }: { run: RunDetail }) {
  const { alike, fingerprint } = run;
  return (
    <p class="why">
      <Icon name="info" />
      <span>
        <Name>{run.why}</Name>
        {alike !== null && alike.value > 0 && fingerprint !== null && (
          <>
            <span class="muted"> · </span>
            {"Same error in "}
            <Link to={pathTo("/failures", {}, { group: fingerprint })}>
              {formatCount(alike)} other {alike.value === 1 && !alike.capped ? "run" : "runs"}
            </Link>
            .
          </>
        )}
      </span>
    </p>
  );
}

/** Links to the runs of the same job before and after this one. */
function Neighbours({ run }: { run: RunDetail }) {
  const go = (id: number | null) => () => {
    if (id === null) return false;
    navigate(pathTo("/runs/:id", { id }));
    return true;
  };
  useKeys({ k: go(run.newer), j: go(run.older) });
  const sides = [
    { text: "newer", id: run.newer, icon: "left", shortcut: "k" },
    { text: "older", id: run.older, icon: "right", shortcut: "j" },
  ] as const;
  return (
    <>
      {sides.map(({ text, id, ...look }) => (
        <Button key={text} small kind="plain" disabled={id === null} onClick={go(id)} {...look}>
          {text}
        </Button>
      ))}
    </>
  );
}
