import { Name } from "../../components/names.tsx";
import { RunState } from "../../components/state-badge.tsx";
import type { Column } from "../../components/table.tsx";
import { Duration, Elapsed, Time } from "../../components/time.tsx";
import { quoteValue } from "../../query/terms.ts";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { visibleText } from "../../text/visible.ts";
import type { RunRow } from "./use-runs.ts";

/** The time that matters in a list: when it ended, began, or is due. */
function when({ state, finishedAt, startedAt, runAt }: RunRow): string | null {
  if (finishedAt !== null) return finishedAt;
  return state === "running" ? startedAt : runAt;
}

export const RUN_COLUMNS: readonly Column<RunRow>[] = [
  {
    key: "state",
    title: "State",
    card: "lead",
    cell: (run) => (run.deleted ? <span class="muted">deleted</span> : <RunState run={run} />),
  },
  {
    key: "job",
    title: "Run",
    card: "lead",
    cell: ({ id, job }) => (
      <Link to={pathTo("/runs/:id", { id })} class="run-link">
        <span class="strong">
          <Name>{job}</Name>
        </span>{" "}
        <span class="muted">{id}</span>
      </Link>
    ),
  },
  {
    key: "queue",
    title: "Queue",
    card: "hide",
    cell: ({ queue }) => (
      <Link to={pathTo("/runs", {}, { q: `queue:${quoteValue(queue)}` })}>
        <Name>{queue}</Name>
      </Link>
    ),
  },
  {
    key: "payload",
    title: "Payload",
    card: "hide",
    cell: ({ preview }) => (
      <code title={visibleText(preview)}>
        <Name>{preview}</Name>
      </code>
    ),
  },
  { key: "attempt", title: "Try", align: "end", card: "hide", cell: (run) => <Attempt run={run} /> },
  {
    key: "waited",
    title: "Waited",
    align: "end",
    card: "hide",
    cell: (run) => <Waited run={run} />,
  },
  {
    key: "took",
    title: "Took",
    align: "end",
    cardLabel: "took",
    cell: (run) => <Took run={run} />,
  },
  { key: "when", title: "When", align: "end", card: "end", cell: (run) => <Time at={when(run)} /> },
  {
    key: "error",
    title: "Error",
    cell: ({ error }) => error && <ErrorText error={error} />,
  },
];

function Attempt({ run: { attempt, maxAttempts } }: { run: RunRow }) {
  if (attempt === 0) return <span class="muted">—</span>;
  return (
    <span>
      {attempt}
      {maxAttempts !== null && attempt <= maxAttempts && <span class="muted">/{maxAttempts}</span>}
    </span>
  );
}

/** The duration; of a running one it grows, with a bar if the handler reports its progress. */
function Took({ run }: { run: RunRow }) {
  if (run.state !== "running" || run.startedAt === null) return <Duration ms={run.took} />;
  const { progress } = run;
  return (
    <span class="figure-spark">
      {progress?.done !== null && progress?.of ? (
        <progress
          class="progress-bar"
          max={progress.of}
          value={progress.done}
          aria-label={`Progress of run ${run.id}`}
        />
      ) : null}
      <Elapsed since={run.startedAt} />
    </span>
  );
}

/** The first line of the message; the whole is its title. */
function ErrorText({ error: { name, message } }: { error: NonNullable<RunRow["error"]> }) {
  return (
    <span title={visibleText(`${name}: ${message}`)}>
      <Name>{message.trim().split("\n")[0] || name}</Name>
    </span>
  );
}

/** How long it waited until it started; of a run that is due, how long it has been waiting. */
function Waited({ run: { state, runAt, waited } }: { run: RunRow }) {
  return state === "ready" ? <Time at={runAt} as="age" /> : <Duration ms={waited} />;
}
