import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Count, Problem } from "../../../../src/dashboard/api/contract.ts";
import { request } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { CommandLine } from "../../components/copy-button.tsx";
import { Empty, ProblemPage } from "../../components/problem.tsx";
import { FIELDS } from "../../query/completion.ts";
import { withEachLeftOut, withField } from "../../query/terms.ts";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { setQuery } from "../../router/router.ts";
import { formatCount } from "../../text/number.ts";
import type { RunsView } from "./runs-page.tsx";
import type { RunsListState } from "./use-runs.ts";

interface NoRunsProps {
  view: RunsView;
  list: RunsListState;
  onSearch(q: string): void;
}

/** The list without a row: nothing ran, nothing matches, or the search has not come to an end. */
export function NoRuns({ view: { q, before, zone }, list, onSearch }: NoRunsProps) {
  if (list.next !== null) {
    return (
      <Empty
        title="No match so far"
        actions={<Button onClick={() => setQuery({ before: list.next })}>Search further back</Button>}
      >
        One search reads about 100,000 runs. Older ones may match.
      </Empty>
    );
  }
  if (before !== null) {
    return (
      <Empty
        title="No older runs"
        actions={<Button onClick={() => setQuery({ before: null })}>Newest</Button>}
      >
        The list ends here.
      </Empty>
    );
  }
  if (q === "") {
    return (
      <Empty
        icon="play"
        title="Nothing ran yet"
        actions={
          <Link class="button" to="/jobs">
            Choose a job to dispatch
          </Link>
        }
      >
        <p>Dispatch a run of one of your jobs, and start a worker that executes it:</p>
        <CommandLine command="punctual dispatch <job> '{}'" />
        <CommandLine command="punctual work" />
      </Empty>
    );
  }
  return (
    <Empty
      title="No run matches"
      actions={
        <>
          <Button onClick={() => onSearch("")}>Clear the search</Button>
          {list.bounded && (
            <Button onClick={() => onSearch(withField(q, "after", "30d"))}>Search 30 days</Button>
          )}
        </>
      }
    >
      <code>{q}</code>
      {list.bounded && <p>Finished runs were searched in the last 7 days.</p>}
      <Relaxed q={q} zone={zone} />
    </Empty>
  );
}

/** A query with more parts than this is not searched again without each of them. */
const MOST_PARTS = 6;

/** Matches without one part of the query: the part that excludes most comes first. */
function Relaxed({ q, zone }: { q: string; zone: string }) {
  const found = useSignal<readonly { without: string; rest: string; count: Count }[]>([]);
  useEffect(() => {
    found.value = [];
    const parts = withEachLeftOut(q);
    if (parts.length < 2 || parts.length > MOST_PARTS) return;
    const abort = new AbortController();
    for (const { without, rest } of parts) {
      request("GET /runs", { query: { q: rest, zone, limit: 1 } }, abort.signal).then(
        ({ count }) => {
          if (!count?.value) return;
          const all = [...found.value, { without, rest, count }];
          found.value = all.sort((a, b) => b.count.value - a.count.value);
        },
        () => {
          // A hint that the page can do without.
        },
      );
    }
    return () => abort.abort();
  }, [q, zone]);
  if (found.value.length === 0) return null;
  return (
    <ul class="relaxed" aria-label="With one part less">
      {found.value.map(({ without, rest, count }) => (
        <li key={without}>
          <Link to={pathTo("/runs", {}, { q: rest })}>{formatCount(count)} match</Link> without{" "}
          <code>{without}</code>
        </li>
      ))}
    </ul>
  );
}

interface RunsProblemProps {
  q: string;
  problem: Problem;
  onSearch(q: string): void;
  onRetry(): void;
}

/** The list that could not be read: the query is wrong or reads too much, or the database does not answer. */
export function RunsProblem({ q, problem, onSearch, onRetry }: RunsProblemProps) {
  if (problem.code === "INVALID_QUERY") {
    return (
      <Empty title="The query cannot be read">
        <p>A query is a list of fields with values, such as:</p>
        <dl class="field-list">
          {FIELDS.slice(0, 9).map(({ name, text }) => (
            <div key={name}>
              <dt>
                <code>{name.endsWith(".") ? `${name}…` : name}:</code>
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
      </Empty>
    );
  }
  if (problem.code === "QUERY_TIMED_OUT") {
    return (
      <ProblemPage
        problem={problem}
        actions={
          <>
            <Button kind="primary" onClick={() => onSearch(withField(q, "after", "24h"))}>
              Only the last 24 hours
            </Button>
            <Button onClick={() => onSearch(withField(q, "after", "1h"))}>Only the last hour</Button>
            <Button onClick={() => onSearch("")}>Clear the search</Button>
          </>
        }
      />
    );
  }
  return <ProblemPage problem={problem} actions={<Button onClick={onRetry}>Try again</Button>} />;
}
