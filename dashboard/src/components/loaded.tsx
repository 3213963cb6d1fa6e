import type { ComponentChildren } from "preact";
import type { Resource } from "../api/resource.ts";
import { Link } from "../router/link.tsx";
import { visibleText } from "../text/visible.ts";
import { Button } from "./button.tsx";
import { CommandLine } from "./copy-button.tsx";
import { Empty, ProblemPage } from "./problem.tsx";
import { Skeleton } from "./skeleton.tsx";

interface LoadedProps<Data> {
  resource: Resource<Data>;
  children(data: Data): ComponentChildren;
  /** Rows of the skeleton. */
  rows?: number;
  /** Shown if the address names something that does not exist. */
  missing?: Missing;
}

interface Missing {
  /** Such as "batch". */
  what: string;
  name: string;
  /** Segment of the page that lists all of them. */
  all: string;
  why: string;
}

/** The data of a resource, or what stands in its place until it is read. Data outlives a later problem. */
export function Loaded<Data>({ resource, children, rows = 8, missing }: LoadedProps<Data>) {
  const { data, problem, refresh } = resource;
  if (data !== null) return children(data);
  if (problem === null) return <Skeleton rows={rows} />;
  if (missing && (problem.status === 404 || problem.status === 422)) return <NotThere {...missing} />;
  if (problem.code === "NOT_INSTALLED") return <NotInstalled onRetry={refresh} />;
  return <ProblemPage problem={problem} actions={<Button onClick={refresh}>Try again</Button>} />;
}

function NotThere({ what, name, all, why }: Missing) {
  return (
    <Empty
      title={`No ${what} ${visibleText(name)}`}
      actions={
        <Link class="button" to={`/${all}`}>
          All {all}
        </Link>
      }
    >
      <p>{why}</p>
    </Empty>
  );
}

/** The tables do not exist: how to create them. */
export function NotInstalled({ onRetry }: { onRetry(): void }) {
  return (
    <Empty
      icon="late"
      title="Not installed in this database"
      actions={<Button onClick={onRetry}>Try again</Button>}
    >
      <p>The database has no tables of Punctual. Create them, or let a worker do it when it starts:</p>
      <CommandLine command="punctual install" />
    </Empty>
  );
}
