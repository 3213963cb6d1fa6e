import { useSignal } from "@preact/signals";
import type { Page, RunDetail, RunLink } from "../../../../src/dashboard/api/contract.ts";
import { request, toProblem } from "../../api/client.ts";
import { Strip } from "../../charts/strip.tsx";
import { Button } from "../../components/button.tsx";
import { Facts } from "../../components/facts.tsx";
import { BatchName, JobLink, Name, RunName, runsPath, TagLink } from "../../components/names.tsx";
import { notify } from "../../components/notices.tsx";
import { Panel } from "../../components/panel.tsx";
import { Duration, Time } from "../../components/time.tsx";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { term } from "../../text/query.ts";
import { formatDuration } from "../../time/format.ts";

/** Facts beside the data: where the run came from, its limits, its family, the last runs of its job. */
export function RunFacts({ run }: { run: RunDetail }) {
  // Attempts that crashed do not count, and may exceed the number that the job allows.
  const isWithin = run.maxAttempts !== null && run.attempt <= run.maxAttempts;
  const attempts = isWithin ? `${run.attempt} of ${run.maxAttempts}` : String(run.attempt);
  return (
    <div class="stack">
      <Panel title="Facts">
        <Facts
          facts={[
            ["Trigger", <Trigger run={run} />],
            ["Dispatched", <Time at={run.createdAt} as="absolute" />],
            ["Due", <Time at={run.runAt} as="absolute" />],
            ["Waited", run.waited !== null && <Duration ms={run.waited} />],
            ["Took", run.took !== null && <Duration ms={run.took} />],
            ["Attempts", attempts],
            ["Crashes", run.crashes > 0 && <span class="warm">{run.crashes}</span>],
            ["Timeout", run.timeout !== null && formatDuration(run.timeout)],
            ["Worker", run.worker !== null && <Worker run={run} />],
            ["Lease", run.leasedUntil !== null && <Time at={run.leasedUntil} />],
            ["Isolated", run.isolated && "runs alone, because it crashed before"],
            [
              "Key",
              run.key !== null && (
                <Link to={runsPath(term("key", run.key))}>
                  <Name>{run.key}</Name>
                </Link>
              ),
            ],
            ["Unique key", run.uniqueKey !== null && <Name>{run.uniqueKey}</Name>],
            ["Tags", run.tags.length > 0 && <Tags tags={run.tags} />],
            ["Batch", run.batch && <BatchName batch={run.batch} />],
            ["Parent", run.parent && <Relative run={run.parent} />],
            ["Run again of", run.rerunOf && <Relative run={run.rerunOf} />],
          ]}
        />
      </Panel>
      {run.children.items.length > 0 && (
        <Panel title="Children" aside={<Link to={runsPath(term("parent", run.id))}>as a list</Link>}>
          <Children id={run.id} first={run.children} />
        </Panel>
      )}
      <Panel
        title={`Last ${run.recent.length > 1 ? `${run.recent.length} ` : ""}finished runs of the job`}
        aside={<Link to={runsPath(term("job", run.job))}>all</Link>}
      >
        <Strip label={`Last finished runs of ${run.job}`} runs={run.recent.toReversed()} current={run.id} />
      </Panel>
    </div>
  );
}

function Trigger({ run }: { run: RunDetail }) {
  if (run.scheduleId !== null) {
    return (
      <>
        <Link to={pathTo("/schedules/:id", { id: run.scheduleId })}>schedule {run.scheduleId}</Link>
        {run.scheduledFor !== null && (
          <>
            {", tick of "}
            <Time at={run.scheduledFor} as="short" />
          </>
        )}
      </>
    );
  }
  if (run.batch !== null && run.batch.callback !== null) return <>dispatched by its batch</>;
  return <>{run.parent === null ? "dispatched by a program" : "dispatched by its parent"}</>;
}

function Worker({ run }: { run: RunDetail }) {
  return (
    <>
      <Link to={runsPath(term("worker", run.worker!))}>
        <Name>{run.worker!}</Name>
      </Link>
      {run.child !== null && <span class="muted"> child {run.child}</span>}
    </>
  );
}

function Tags({ tags }: { tags: string[] }) {
  return (
    <span class="tags">
      {tags.map((tag) => (
        <TagLink key={tag} tag={tag} />
      ))}
    </span>
  );
}

function Relative({ run }: { run: RunLink }) {
  return (
    <>
      <RunName run={run} /> <span class="muted">of</span> <JobLink name={run.job} />
    </>
  );
}

function Children({ id, first }: { id: number; first: Page<RunLink> }) {
  const more = useSignal<Page<RunLink>>({ items: [], next: first.next });
  const load = async () => {
    try {
      const page = await request("GET /runs/:id/children", {
        params: { id },
        query: { before: more.value.next! },
      });
      more.value = { items: [...more.value.items, ...page.items], next: page.next };
    } catch (error) {
      notify(toProblem(error).detail, "problem");
    }
  };
  return (
    <>
      <ul class="relatives">
        {[...first.items, ...more.value.items].map((child) => (
          <li key={child.id}>
            <Relative run={child} />
          </li>
        ))}
      </ul>
      {more.value.next !== null && (
        <Button small kind="plain" onClick={load}>
          Show more
        </Button>
      )}
    </>
  );
}
