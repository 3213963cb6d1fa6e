import type { ComponentChildren } from "preact";
import type { Overview } from "../../../../src/dashboard/api/contract.ts";
import { Gauge } from "../../charts/gauge.tsx";
import { Time } from "../../components/time.tsx";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { formatCount, formatNumber, formatShare, plural } from "../../text/number.ts";

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
        to={runs("state:ready")}
        value={formatCount(waiting.ready)}
        unit={
          waiting.oldest !== null && (
            <>
              oldest <Time at={waiting.oldest} as="age" />
            </>
          )
        }
      >
        <Link to={runs("state:scheduled")}>{formatCount(waiting.scheduled)} scheduled</Link>
      </Tile>
      <Tile
        title="Failed in 24 hours"
        to={runs("state:failed after:24h")}
        value={formatNumber(failed.last24h)}
        unit={failed.rate !== null && `${formatShare(failed.rate)} of runs`}
        tone={failed.last24h > 0 ? "failed" : undefined}
      >
        <Change now={failed.last24h} before={failed.before} />
        {failed.jobs > 0 && <Link to="/failures">{plural(failed.jobs, "failing job")}</Link>}
      </Tile>
      <Tile
        title="Schedules"
        to="/schedules"
        value={formatNumber(schedules.active)}
        unit="active"
        tone={schedules.late > 0 ? "late" : undefined}
      >
        {schedules.late > 0 && <strong class="state-late">{formatNumber(schedules.late)} late</strong>}
        {schedules.paused > 0 && <span>{formatNumber(schedules.paused)} paused</span>}
        {schedules.next !== null && (
          <span>
            next <Time at={schedules.next} as="countdown" />
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
        {workers.silent > 0 && <strong class="state-late">{formatNumber(workers.silent)} silent</strong>}
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
  return waiting.ready.value > 0 || schedules.active > 0;
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

/** The difference to the day before. More failures are a problem; fewer are only said. */
function Change({ now, before }: { now: number; before: number }) {
  const difference = now - before;
  if (difference === 0) return <span>{now === 0 ? "None the day before" : "As the day before"}</span>;
  const text = `${difference > 0 ? "▲" : "▼"} ${formatNumber(Math.abs(difference))}`;
  return (
    <span
      class={difference > 0 ? "state-failed" : undefined}
      title={`${formatNumber(before)} in the 24 hours before`}
    >
      {text}
    </span>
  );
}
