import type { RunState } from "../../../src/run/states.ts";
import { Link } from "../router/link.tsx";
import { pathTo } from "../router/path.ts";

interface StripProps {
  /** Runs, the oldest first. */
  runs: readonly { id: number; state: RunState; title: string }[];
  /** Accessible name, such as "Last 20 runs". */
  label: string;
}

/** The last runs as small marks, each a link. A failed run is a cross, so that it can be told without colours. */
export function Strip({ runs, label }: StripProps) {
  return (
    <ul class="strip" aria-label={label}>
      {runs.map(({ id, state, title }) => (
        <li key={id}>
          <Link
            to={pathTo("/runs/:id", { id })}
            class={`mark mark-${state}`}
            title={title}
            aria-label={title}
          />
        </li>
      ))}
    </ul>
  );
}
