import type { ComponentChildren } from "preact";
import type { Overview } from "../../../../src/dashboard/api/contract.ts";
import { Gauge } from "../../charts/gauge.tsx";
import { Time } from "../../components/time.tsx";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { formatCount, formatNumber, formatShare, plural } from "../../text/number.ts";
import { laterOf, laterTerm, waitingOf, waitingTerm } from "../../text/waiting.ts";

const runs = (q: string) => pathTo("/runs", {}, { q });

/** The five figures of the overview. Each leads to the list that explains it. */
export function Tiles({ tiles }: { tiles: Overview["tiles"] }) {
  const { running, waiting, failed, schedules, workers } = tiles;
  return (
    <div class="tiles">
      <Tile
        title="Running"
        to={runs("state:running")}
        value={formatNumber(running.runs)}
        unit={slotsOf(running)}
      >
        {running.slots > 0 ? (
          <Gauge used={running.runs} total={running.slots} label="Slots in use" />
        ) : (
          "No live worker"
        )}
      </Tile>
      <Tile
        title="Waiting"
        to={runs(waitingTerm(waiting))}
        value={formatCount(waitingOf(waiting))}
        unit={
          waiting.oldest !== null && (
            <>
              oldest <Time at={waiting.oldest} as="age" />
            </>
          )
        }
      >
        <Link to={runs(laterTerm(waiting))}>{formatCount(laterOf(waiting))} scheduled</Link>
      </Tile>
      <Tile
        title="Failed runs, 24 hours"
        to={runs("state:failed after:24h")}
        value={formatCount(failed.runs)}
        unit={failed.rate !== null && `${formatShare(failed.rate)} of runs`}
        tone={failed.runs.value > 0 ? "failed" : undefined}
      >
        <FailedAttempts now={failed.attempts} before={failed.attemptsBefore} />
        {failed.jobs > 0 && <Link to="/jobs?show=failing">{plural(failed.jobs, "failing job")}</Link>}
      </Tile>
      <Tile
        title="Schedules"
        to="/schedules"
        value={formatNumber(schedules.active)}
        unit="active"
        tone={schedules.late > 0 ? "late" : undefined}
      >
        {schedules.late > 0 && (
          <Link to="/schedules?show=late" class="state-late strong">
            {formatNumber(schedules.late)} late
          </Link>
        )}
        {schedules.paused > 0 && (
          <Link to="/schedules?show=paused">{formatNumber(schedules.paused)} paused</Link>
        )}
        {schedules.next !== null && (
          <span>
            next in <Time at={schedules.next} as="countdown" />
          </span>
        )}
      </Tile>
      <Tile
        title="Workers"
        to="/workers"
        value={formatNumber(workers.live)}
        unit="live"
        tone={workers.live === 0 && isNeeded(tiles) ? "failed" : workers.silent > 0 ? "late" : undefined}
      >
        {workers.silent > 0 && (
          <Link to="/workers" class="state-late strong">
            {formatNumber(workers.silent)} silent
          </Link>
        )}
        {workers.lastHeartbeat !== null && (
          <span>
            heartbeat <Time at={workers.lastHeartbeat} />
          </span>
        )}
      </Tile>
    </div>
  );
}

/** Whether there is something for a worker to do. */
function isNeeded({ waiting, schedules }: Overview["tiles"]): boolean {
  return waitingOf(waiting).value > 0 || schedules.active > 0;
}

interface TileProps {
  title: string;
  to: string;
  value: string;
  unit: ComponentChildren;
  tone?: "failed" | "late" | undefined;
  children: ComponentChildren;
}

function Tile({ title, to, value, unit, tone, children }: TileProps) {
  return (
    <section class={tone ? `tile tile-${tone}` : "tile"}>
      <h2>{title}</h2>
      <p class="tile-figure">
        <Link to={to} class="tile-link">
          <span class="tile-value">{value}</span> <span class="tile-unit">{unit}</span>
        </Link>
      </p>
      <div class="tile-more">{children}</div>
    </section>
  );
}

function slotsOf({ slots }: Overview["tiles"]["running"]): string {
  return slots > 0 ? `of ${plural(slots, "slot")}` : "";
}

/** Attempts, and the difference to the day before. More failures are a problem; fewer are only said. */
function FailedAttempts({ now, before }: { now: number; before: number }) {
  const difference = now - before;
  const change =
    difference === 0 ? "" : `${difference > 0 ? "▲" : "▼"}\u00a0${formatNumber(Math.abs(difference))}`;
  return (
    <span title={`${plural(before, "failed attempt")} in the 24 hours before`}>
      {plural(now, "failed attempt")}{" "}
      <span class={difference > 0 ? "state-failed" : undefined}>{change}</span>
    </span>
  );
}
