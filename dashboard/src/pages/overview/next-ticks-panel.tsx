import type { NextTick } from "../../../../src/dashboard/api/contract.ts";
import { Name } from "../../components/names.tsx";
import { Panel } from "../../components/panel.tsx";
import { Time } from "../../components/time.tsx";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";

/** The next ticks of all schedules, the soonest first. */
export function NextTicksPanel({ ticks }: { ticks: readonly NextTick[] }) {
  return (
    <Panel title="Next ticks" aside={<Link to="/schedules">All schedules</Link>} flush>
      {ticks.length === 0 ? (
        <p class="all-well">No schedule will tick.</p>
      ) : (
        <ul class="lines">
          {ticks.map((tick) => (
            <li key={`${tick.scheduleId} ${tick.at}`}>
              <Link to={pathTo("/schedules/:id", { id: tick.scheduleId })} class="line-link">
                <span class="line-countdown">
                  <Time at={tick.at} zone={tick.timezone} as="countdown" />
                </span>
                <span class="line-text">
                  <strong>
                    <Name>{tick.job}</Name>
                  </strong>{" "}
                  <span>{tick.words}</span>
                </span>
                <span class="line-end">
                  <Time at={tick.at} zone={tick.timezone} as="short" />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
