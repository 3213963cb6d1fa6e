import type { ScheduleDetail } from "../../../../src/dashboard/api/contract.ts";
import { useResource } from "../../api/resource.ts";
import { Strip } from "../../charts/strip.tsx";
import { Breadcrumb } from "../../components/breadcrumb.tsx";
import { Facts } from "../../components/facts.tsx";
import { Icon } from "../../components/icon.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { JobLink, QueueLink, runsPath } from "../../components/names.tsx";
import { Page } from "../../components/page.tsx";
import { Panel } from "../../components/panel.tsx";
import { PauseNote } from "../../components/pause-dialog.tsx";
import { ScheduleState, StateBadge } from "../../components/state-badge.tsx";
import { type Column, DataTable } from "../../components/table.tsx";
import { Duration, Time } from "../../components/time.tsx";
import { JsonView } from "../../json/json-view.tsx";
import { Link } from "../../router/link.tsx";
import { pathTo } from "../../router/path.ts";
import { term } from "../../text/query.ts";
import { shownCron } from "../../text/shown.ts";
import { visibleText } from "../../text/visible.ts";
import { now } from "../../time/clock.ts";
import { formatTick } from "../../time/format.ts";
import { ScheduleButtons } from "./schedule-actions.tsx";
import { toStripRun } from "./schedule-table.tsx";

/** One schedule: its next ticks with clock changes, and its last ones with their runs. */
export function SchedulePage({ id }: { id: string }) {
  const resource = useResource("GET /schedules/:id", { params: { id } });
  const schedule = resource.data;
  return (
    <Page
      title={schedule ? visibleText(schedule.job) : `Schedule ${id}`}
      above={
        <Breadcrumb>
          {[
            <Link to="/schedules">Schedules</Link>,
            schedule && <JobLink name={schedule.job} />,
            `schedule ${id}`,
          ].filter(Boolean)}
        </Breadcrumb>
      }
      beside={schedule && <ScheduleState state={schedule.state} />}
      actions={schedule && <ScheduleButtons schedule={schedule} refresh={resource.refresh} />}
    >
      <Loaded
        resource={resource}
        missing={{
          what: "schedule",
          name: id,
          all: "schedules",
          why: "It was removed with its job, or its definition changed and got another number.",
        }}
      >
        {(data) => <View schedule={data} />}
      </Loaded>
    </Page>
  );
}

function View({ schedule }: { schedule: ScheduleDetail }) {
  return (
    <>
      {schedule.pause && (
        <p class="callout callout-paused">
          <PauseNote pause={schedule.pause} />
        </p>
      )}
      {schedule.why !== null && (
        <p class="callout callout-problem">
          <Icon name="late" /> {visibleText(schedule.why)}
        </p>
      )}
      <p class="schedule-words">
        {schedule.words}
        {!schedule.words.includes(schedule.timezone) && <span class="muted"> {schedule.timezone}</span>}
      </p>
      <div class="columns">
        <div class="stack">
          <Panel
            title="Next ticks"
            aside={schedule.pause && <span class="muted">not made while it is paused</span>}
            flush
          >
            <Upcoming schedule={schedule} />
          </Panel>
          <Panel
            title="Last ticks"
            aside={<Link to={runsPath(term("schedule", schedule.id))}>all runs of this schedule</Link>}
            flush
          >
            <div class="panel-content">
              <Strip label="Last ticks" runs={schedule.recent.map(toStripRun)} />
              {schedule.partial && (
                <p class="muted">Older ticks are not shown: only the newest runs of the job were searched.</p>
              )}
            </div>
            <History schedule={schedule} />
          </Panel>
        </div>
        <div class="stack">
          <Panel title="Settings">
            <Facts
              facts={[
                ["Cron", <code title={schedule.cron}>{shownCron(schedule.cron)}</code>],
                ["Zone", schedule.timezone],
                ["Queue", schedule.queue !== null && <QueueLink name={schedule.queue} />],
                ["Missed ticks", schedule.missed > 0 ? <span class="warm">{schedule.missed}</span> : "0"],
                ["After an outage", schedule.misfires],
                ["Last tick", <Time at={schedule.last} zone={schedule.timezone} />],
              ]}
            />
          </Panel>
          <Panel title="Arguments">
            <JsonView value={schedule.args} none="Its runs get the arguments of the job." />
          </Panel>
        </div>
      </div>
    </>
  );
}

type Tick = ScheduleDetail["upcoming"][number];

function Upcoming({ schedule }: { schedule: ScheduleDetail }) {
  if (schedule.upcoming.length === 0) return <p class="panel-content muted">It never ticks again.</p>;
  const columns: Column<Tick>[] = [
    { key: "in", title: "In", card: "lead", cell: (tick) => <Time at={tick.at} zone={schedule.timezone} /> },
    {
      key: "local",
      title: `Time in ${schedule.timezone}`,
      card: "end",
      cell: ({ at, local }) => (
        <>
          {formatTick(Date.parse(at), now.peek(), schedule.timezone)}{" "}
          <span class="muted">{offsetOf(local)}</span>
        </>
      ),
    },
    ...(schedule.timezone === "UTC" ? [] : [utcColumn]),
    {
      key: "note",
      title: "Clock change",
      hideTitle: schedule.upcoming.every(({ note }) => note === null),
      cell: ({ note }) =>
        note && (
          <span class="clock-note">
            <Icon name="scheduled" size={13} /> {note}
          </span>
        ),
    },
  ];
  return (
    <DataTable caption="Next ticks" columns={columns} rows={schedule.upcoming} rowKey={(tick) => tick.at} />
  );
}

const utcColumn: Column<Tick> = {
  key: "utc",
  title: "UTC",
  card: "hide",
  cell: ({ at }) => <span class="muted">{formatTick(Date.parse(at), now.peek(), "UTC")}</span>,
};

/** `+01:00` of `2026-11-18T00:00:00+01:00`: it shows on which side of a clock change a tick is. */
function offsetOf(local: string): string {
  return /[+-]\d\d:\d\d$/.exec(local)?.[0] ?? "";
}

function History({ schedule }: { schedule: ScheduleDetail }) {
  const columns: Column<ScheduleDetail["recent"][number]>[] = [
    { key: "state", title: "State", card: "lead", cell: (tick) => <StateBadge tone={tick.state} /> },
    {
      key: "run",
      title: "Run",
      card: "lead",
      cell: (tick) => <Link to={pathTo("/runs/:id", { id: tick.runId })}>{tick.runId}</Link>,
    },
    {
      key: "due",
      title: "Due",
      card: "end",
      cell: (tick) => <Time at={tick.at} zone={schedule.timezone} as="short" />,
    },
    {
      key: "ago",
      title: "Ago",
      card: "hide",
      cell: (tick) => <Time at={tick.at} zone={schedule.timezone} />,
    },
    {
      key: "took",
      title: "Took",
      align: "end",
      cardLabel: "took",
      cell: (tick) => <Duration ms={tick.took} />,
    },
  ];
  if (schedule.recent.length === 0) return null;
  return (
    <DataTable
      caption="Last ticks"
      columns={columns}
      rows={schedule.recent.toReversed()}
      rowKey={(tick) => tick.runId}
      keys
    />
  );
}
