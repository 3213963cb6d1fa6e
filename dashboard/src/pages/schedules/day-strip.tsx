import type { SchedulesResponse } from "../../../../src/dashboard/api/contract.ts";
import { shownZone } from "../../components/time.tsx";
import { plural } from "../../text/number.ts";
import { visibleText } from "../../text/visible.ts";
import { formatClock } from "../../time/format.ts";

/** Jobs that the title of an hour names. */
const NAMED = 8;

/** How many ticks each of the next 24 hours has: shows when schedules crowd. */
export function DayStrip({ hours }: Pick<SchedulesResponse, "hours">) {
  const most = Math.max(1, ...hours.map(({ ticks }) => ticks));
  // Logarithmic: one tick a minute must not hide the hour in which five nightly jobs start.
  const height = (ticks: number) => (ticks === 0 ? 0 : 4 + (Math.log2(1 + ticks) / Math.log2(1 + most)) * 40);
  return (
    <ol class="day">
      {hours.map(({ at, ticks, jobs }) => {
        const clock = formatClock(Date.parse(at), shownZone());
        const names = jobs.slice(0, NAMED).map(visibleText).join(", ");
        const more = jobs.length > NAMED ? ` and ${jobs.length - NAMED} more` : "";
        const title = `${clock}: ${plural(ticks, "tick")}${jobs.length > 0 ? ` of ${names}${more}` : ""}`;
        return (
          <li key={at} class="day-hour" title={title}>
            <span class="visually-hidden">{title}</span>
            <span class="day-count" aria-hidden="true">
              {ticks > 0 ? ticks : ""}
            </span>
            <svg class="day-bar" width="100%" height="44" aria-hidden="true">
              <rect x="12%" y={44 - height(ticks)} width="76%" height={height(ticks)} rx="2" />
            </svg>
            <span class="day-clock" aria-hidden="true">
              {clock.slice(0, 2)}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
