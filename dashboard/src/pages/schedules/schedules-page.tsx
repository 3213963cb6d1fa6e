import type { SchedulesResponse, ScheduleView } from "../../../../src/dashboard/api/contract.ts";
import { useResource } from "../../api/resource.ts";
import { CommandLine } from "../../components/copy-button.tsx";
import { FilterBar, useFilter, useGroup } from "../../components/filter-bar.tsx";
import { Loaded } from "../../components/loaded.tsx";
import { Page } from "../../components/page.tsx";
import { Panel } from "../../components/panel.tsx";
import { Empty } from "../../components/problem.tsx";
import { useSteadyRows } from "../../components/steady-rows.ts";
import { useSort } from "../../components/use-sort.ts";
import { shownCron } from "../../text/shown.ts";
import { DayStrip } from "./day-strip.tsx";
import { ScheduleTable } from "./schedule-table.tsx";

type Group = "all" | ScheduleView["state"];

const GROUPS: Record<Group, string> = {
  all: "All",
  active: "Active",
  late: "Late",
  failing: "Failing",
  running: "Running",
  paused: "Paused",
  ended: "Ended",
};

/** Problems first, then by the next tick. */
const RANK: Record<ScheduleView["state"], number> = {
  late: 0,
  failing: 1,
  running: 2,
  active: 2,
  paused: 3,
  ended: 4,
};

/** Every schedule: will it tick, did it tick? */
export function SchedulesPage() {
  const resource = useResource("GET /schedules", {});
  return (
    <Page title="Schedules">
      <Loaded resource={resource}>
        {(data) =>
          data.items.length === 0 ? <NoSchedules /> : <List data={data} refresh={resource.refresh} />
        }
      </Loaded>
    </Page>
  );
}

function List({ data, refresh }: { data: SchedulesResponse; refresh(): void }) {
  const filter = useFilter();
  const { group, onGroup } = useGroup(Object.keys(GROUPS) as Group[]);
  const found = data.items.filter(
    (one) =>
      (group === "all" || one.state === group) &&
      filter.matches(one.job, one.cron, shownCron(one.cron), one.words, one.timezone),
  );
  const { sorted, order, sortOf } = useSort(
    found,
    {
      job: (one) => one.job,
      // A rank outweighs any time.
      next: (one) => RANK[one.state] * 1e14 + (one.next === null ? 9e13 : Date.parse(one.next)),
      last: (one) => one.last && -Date.parse(one.last),
    },
    { key: "next", direction: "ascending" },
  );
  const rows = useSteadyRows(sorted, (one) => one.id, `${order} ${group} ${filter.text}`);
  return (
    <>
      <section class="panel" aria-label="Schedules">
        <FilterBar
          filter={filter}
          label="Filter schedules"
          groups={Object.entries(GROUPS).map(([key, label]) => ({
            value: key as Group,
            label,
            count: data.items.filter((one) => key === "all" || one.state === key).length,
          }))}
          group={group}
          onGroup={onGroup}
        />
        <ScheduleTable schedules={rows} refresh={refresh} sortOf={sortOf} />
        {rows.length === 0 && <p class="panel-content muted">No schedule matches.</p>}
      </section>
      <Panel title="Ticks of the next 24 hours">
        <DayStrip hours={data.hours} />
      </Panel>
    </>
  );
}

function NoSchedules() {
  return (
    <Empty icon="scheduled" title="No schedules yet">
      <p>A schedule appears here when a worker that defines it starts:</p>
      <pre class="code">{`import { Job } from "punctual";

Job.define("report", async () => {})
  .dailyAt("09:00")
  .timezone("Europe/Berlin");`}</pre>
      <CommandLine command="punctual work --jobs jobs/report.ts" />
    </Empty>
  );
}
