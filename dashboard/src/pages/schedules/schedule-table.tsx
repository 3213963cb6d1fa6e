import type { ScheduleView, TickResult } from "../../../../src/dashboard/api/contract.ts";
import { Strip } from "../../charts/strip.tsx";
import { PauseNote } from "../../components/pause-dialog.tsx";
import { ScheduleState, StateBadge } from "../../components/state-badge.tsx";
import { type Column, DataTable, type SortState } from "../../components/table.tsx";
import { Duration, Time } from "../../components/time.tsx";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { shownCron } from "../../text/shown.ts";
import { visibleText } from "../../text/visible.ts";
import { ScheduleMenu } from "./schedule-actions.tsx";

interface ScheduleTableProps {
  schedules: readonly ScheduleView[];
  refresh(): void;
  /** Whether all are of one job, which the page names already. */
  ofJob?: boolean;
  sortOf?(key: string): SortState;
}

/** Schedules with their next and last ticks. */
export function ScheduleTable({ schedules, refresh, ofJob = false, sortOf }: ScheduleTableProps) {
  const sort = (key: string) => (sortOf ? { sort: sortOf(key) } : {});
  const columns: Column<ScheduleView>[] = [
    { key: "state", title: "State", cell: ({ state }) => <ScheduleState state={state} /> },
    {
      key: "schedule",
      title: "Schedule",
      card: "lead",
      ...sort("job"),
      cell: (schedule) => (
        <span class="two-lines">
          <span>
            <Link to={pathTo("/schedules/:id", { id: schedule.id })}>
              {ofJob ? `schedule ${schedule.id}` : <bdi>{visibleText(schedule.job)}</bdi>}
            </Link>
          </span>
          <span class="caption">{schedule.words}</span>
        </span>
      ),
    },
    {
      key: "cron",
      title: "Cron",
      card: "hide",
      cell: (schedule) => (
        <span class="two-lines">
          <code title={schedule.cron}>{shownCron(schedule.cron)}</code>
          <span class="caption">{schedule.timezone}</span>
        </span>
      ),
    },
    {
      key: "next",
      title: "Next",
      card: "end",
      ...sort("next"),
      cell: (schedule) => <Next schedule={schedule} />,
    },
    {
      key: "last",
      title: "Last",
      cardLabel: "last",
      ...sort("last"),
      cell: (schedule) => <Last schedule={schedule} />,
    },
    {
      key: "strip",
      title: "Last 20",
      cell: (schedule) => <Strip label="Last ticks" runs={schedule.recent.map(toStripRun)} />,
    },
    {
      key: "missed",
      title: "Missed",
      align: "end",
      cardLabel: "missed",
      cell: ({ id, missed }) =>
        missed > 0 ? (
          <Link class="warm" to={pathTo("/schedules/:id", { id })}>
            {missed}
          </Link>
        ) : (
          <span class="muted none">0</span>
        ),
    },
    {
      key: "actions",
      title: "Actions",
      hideTitle: true,
      align: "end",
      card: "end",
      cell: (schedule) => <ScheduleMenu schedule={schedule} refresh={refresh} />,
    },
  ];
  return (
    <DataTable
      caption="Schedules"
      columns={columns}
      rows={schedules}
      rowKey={(schedule) => schedule.id}
      below={(schedule) => noteOf(schedule)}
      keys={!ofJob}
    />
  );
}

export function toStripRun({
  runId,
  state,
  at,
  took,
}: TickResult): Parameters<typeof Strip>[0]["runs"][number] {
  return { id: runId, state, at, took };
}

function Next({ schedule }: { schedule: ScheduleView }) {
  if (schedule.next === null || schedule.pause !== null) return <span class="muted">—</span>;
  const zone = schedule.timezone;
  return (
    <span class="two-lines">
      <span class={schedule.state === "late" ? "warm" : ""}>
        <Time at={schedule.next} zone={zone} />
      </span>
      <span class="caption">
        <Time at={schedule.next} zone={zone} as="short" />
      </span>
    </span>
  );
}

function Last({ schedule }: { schedule: ScheduleView }) {
  const last = schedule.recent.at(-1);
  if (last === undefined) return <Time at={schedule.last} zone={schedule.timezone} />;
  return (
    <span class="two-lines">
      <Link to={pathTo("/runs/:id", { id: last.runId })}>
        <StateBadge tone={last.state} />
      </Link>
      <span class="caption">
        <Time at={last.at} zone={schedule.timezone} />
        {last.took !== null && (
          <>
            {" · "}
            <Duration ms={last.took} />
          </>
        )}
      </span>
    </span>
  );
}

function noteOf(schedule: ScheduleView) {
  if (schedule.pause !== null) return <PauseNote pause={schedule.pause} />;
  return schedule.why === null ? null : <span class="warm">{visibleText(schedule.why)}</span>;
}
