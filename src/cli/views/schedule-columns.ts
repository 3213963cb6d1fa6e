import { describeCron } from "../../schedule/cron.ts";
import type { ScheduleInfo } from "../../status/report.ts";
import { ago, due, stamp } from "../render/formats.ts";
import type { Page } from "../render/page.ts";
import type { Column } from "../render/table.ts";
import { shortCron } from "./status-columns.ts";

/** A schedule of the database, or of the job files only: that one has no id yet. */
export interface TickingSchedule extends Omit<ScheduleInfo, "id"> {
  id: number | null;
  /** Environments in which the schedule ticks; null: all. Known only from the job files. */
  environments?: readonly string[] | null;
  /** False: no live worker defines the schedule's job. */
  defined?: boolean;
}

/** Columns of `schedule list` and `list schedules`. */
export function scheduleColumns(now: Date, page: Page, ofFiles = false): Column<TickingSchedule>[] {
  const { icons, zone } = page;
  return [
    { title: "Id", cell: ({ id }) => id ?? icons.none, align: "right" },
    { title: "Job", cell: ({ job }) => job, min: 14 },
    { title: "Cron", cell: ({ cron }) => shortCron(cron) },
    { title: "Zone", cell: ({ timezone }) => timezone, drop: 2 },
    { title: "Last Tick", cell: ({ lastTick }) => (lastTick ? ago(lastTick, now) : icons.none), drop: 1 },
    {
      title: "Next Tick",
      cell: ({ nextTick, paused, defined }) =>
        defined === false
          ? { text: "no worker has it", style: "dim" }
          : paused
            ? { text: "paused", style: "dim" }
            : nextTick
              ? due(nextTick, now)
              : icons.none,
    },
    { title: "At", cell: ({ nextTick }) => (nextTick ? stamp(nextTick, zone) : icons.none), hidden: true },
    {
      title: "Environments",
      cell: ({ environments }) => environments?.join(", ") ?? icons.none,
      hidden: !ofFiles,
    },
    { title: "Missed", cell: ({ missed }) => missed, align: "right", drop: 3 },
    { title: "In words", cell: (schedule) => describeCron(schedule), min: 12, drop: 4 },
  ];
}
