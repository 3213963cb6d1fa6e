import type { ComponentChildren } from "preact";
import type { Problem } from "../../../src/dashboard/api/contract.ts";
import type { Resource } from "../api/resource.ts";
import { Button } from "./button.tsx";
import { CommandLine } from "./copy-button.tsx";
import { Empty, ProblemPage } from "./problem.tsx";
import { Skeleton } from "./skeleton.tsx";

interface LoadedProps<Data> {
  resource: Resource<Data>;
  children(data: Data): ComponentChildren;
  /** Rows of the skeleton. */
  rows?: number;
  /** Replaces the message about a problem, such as that of an unknown id. */
  problem?(problem: Problem): ComponentChildren;
}

/** The data of a resource, or what stands in its place until it is read. Data outlives a later problem. */
export function Loaded<Data>({ resource, children, rows = 8, problem: describe }: LoadedProps<Data>) {
  const { data, problem, refresh } = resource;
  if (data !== null) return children(data);
  if (problem === null) return <Skeleton rows={rows} />;
  const special = describe?.(problem);
  if (special) return special;
  if (problem.code === "NOT_INSTALLED") return <NotInstalled onRetry={refresh} />;
  return <ProblemPage problem={problem} actions={<Button onClick={refresh}>Try again</Button>} />;
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
