import { useRef } from "preact/hooks";
import type { RunState } from "../../../src/run/states.ts";
import { Link } from "../router/link.tsx";
import { pathTo } from "../router/path.ts";
import { now } from "../time/clock.ts";
import { formatDuration, formatRelative } from "../time/format.ts";

export interface StripRun {
  id: number;
  state: RunState;
  at: string;
  took: number | null;
}

interface StripProps {
  /** Accessible name, such as "Last 20 ticks". */
  label: string;
  /** The oldest first. */
  runs: readonly StripRun[];
  /** The run that the page shows. */
  current?: number;
}

/** The last runs of a job or schedule, one mark each; a mark links to its run. Arrow keys move between the marks. */
export function Strip({ label, runs, current }: StripProps) {
  const list = useRef<HTMLUListElement>(null);
  if (runs.length === 0) return <span class="muted">none yet</span>;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const marks = [...(list.current?.querySelectorAll("a") ?? [])];
    marks[marks.indexOf(event.target as HTMLAnchorElement) + step]?.focus();
    event.preventDefault();
  };
  return (
    <ul class="strip" aria-label={label} ref={list} onKeyDown={onKeyDown}>
      {runs.map((run, index) => (
        <li key={run.id}>
          <Link
            to={pathTo("/runs/:id", { id: run.id })}
            class={`mark mark-${run.state}`}
            tabIndex={index === runs.length - 1 ? 0 : -1}
            title={describe(run)}
            aria-label={describe(run)}
            {...(run.id === current ? { "aria-current": "true" } : {})}
          />
        </li>
      ))}
    </ul>
  );
}

function describe({ id, state, at, took }: StripRun): string {
  const duration = took === null ? "" : `, took ${formatDuration(took)}`;
  return `Run ${id}: ${state}, ${formatRelative(Date.parse(at), now.peek())}${duration}`;
}
