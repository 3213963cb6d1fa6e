import type { BatchLink, RunLink } from "../../../src/dashboard/api/contract.ts";
import { Link } from "../router/link.tsx";
import { pathTo } from "../router/path.ts";
import { term } from "../text/query.ts";
import { visibleText } from "../text/visible.ts";
import { StateBadge } from "./state-badge.tsx";

/** A name that users chose: isolated from the direction of the text around it, with invisible characters shown. */
export function Name({ children }: { children: string }) {
  return <bdi>{visibleText(children)}</bdi>;
}

export function JobLink({ name }: { name: string }) {
  return (
    <Link to={pathTo("/jobs/:name", { name })}>
      <Name>{name}</Name>
    </Link>
  );
}

export function QueueLink({ name }: { name: string }) {
  return (
    <Link to={pathTo("/queues/:name", { name })}>
      <Name>{name}</Name>
    </Link>
  );
}

/** Path of the list of runs that match every part of a query. */
export function runsPath(...terms: string[]): string {
  return pathTo("/runs", {}, { q: terms.join(" ") });
}

export function TagLink({ tag }: { tag: string }) {
  return (
    <Link class="tag" to={runsPath(term("tag", tag))}>
      <Name>{tag}</Name>
    </Link>
  );
}

/** The batch of a run, and whether the run is its callback. */
export function BatchName({ batch: { id, name, callback } }: { batch: BatchLink }) {
  return (
    <>
      <Link to={pathTo("/batches/:id", { id })}>
        <Name>{name ?? "deleted"}</Name>
      </Link>{" "}
      <span class="muted">
        {id}
        {callback && `, on ${callback}`}
      </span>
    </>
  );
}

/** A run by number, with its state. */
export function RunName({ run }: { run: RunLink }) {
  return (
    <span class="run-name">
      <Link to={pathTo("/runs/:id", { id: run.id })}>{run.id}</Link>
      <StateBadge tone={run.state} />
    </span>
  );
}
