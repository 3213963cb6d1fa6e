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
  { key: "key", title: "Key", cardLabel: "key", cell: ({ key }) => key !== null && <Name>{key}</Name> },
  {
    key: "tags",
    title: "Tags",
    cardLabel: "tags",
    cell: ({ tags }) => tags.length > 0 && <Name>{tags.join(", ")}</Name>,
  },
  {
    key: "priority",
    title: "Priority",
    align: "end",
    cardLabel: "priority",
    cell: ({ priority }) => priority,
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
  {
    key: "created",
    title: "Dispatched",
    align: "end",
    cardLabel: "dispatched",
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
  { key: "when", title: "When", align: "end", card: "end", cell: (run) => <Time at={when(run)} /> },
  {
    key: "error",
    title: "Error",
    cell: ({ error }) => error && <ErrorText error={error} />,
  },
];

/** A row is recognised and opened by its state and its name, so every list has them. */
const FIXED = ["state", "job"];

/** Columns that are shown only if they were chosen. */
const OPTIONAL = ["key", "tags", "priority", "created"];

/** The columns among which people choose, in the order of the list. */
export const CHOICES = RUN_COLUMNS.filter(({ key }) => !FIXED.includes(key));

export const DEFAULT_CHOICE = CHOICES.map(({ key }) => key).filter((key) => !OPTIONAL.includes(key));

/** Returns the chosen columns by their keys; null, or a setting that another version wrote: the default. */
export function chosenColumns(setting: unknown): readonly string[] {
  if (!Array.isArray(setting)) return DEFAULT_CHOICE;
  return CHOICES.map(({ key }) => key).filter((key) => setting.includes(key));
}

/** Returns the columns of a list. Without errors, the payload gets their room. */
export function columnsFor(setting: unknown, rows: readonly RunRow[]): readonly Column<RunRow>[] {
  const chosen = chosenColumns(setting);
  const hasErrors = rows.some(({ error }) => error !== null);
  return RUN_COLUMNS.filter(
    ({ key }) => FIXED.includes(key) || (chosen.includes(key) && (key !== "error" || hasErrors)),
  );
}

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
