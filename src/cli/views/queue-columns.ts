import type { StatusReport } from "../../status/report.ts";
import { serves } from "../../store/queue-selection.ts";
import { grouped } from "../render/numbers.ts";
import type { Page } from "../render/page.ts";
import type { Column } from "../render/table.ts";
import { moment, span } from "../render/times.ts";

type Queue = StatusReport["queues"][number];

/** Columns of `list queues` and `status --queues`. */
export function queueColumns({ workers, now }: StatusReport, page: Page): Column<Queue>[] {
  const { icons } = page;
  const serving = (name: string) => workers.filter((worker) => worker.parallel > 0 && serves(worker, name));
  return [
    {
      title: "",
      gap: 1,
      cell: ({ name, paused, ready, running }) => {
        if (paused) return { text: icons.paused, style: "dim" };
        if (ready > 0 && serving(name).length === 0) return { text: icons.late, style: "yellow" };
        return running > 0 ? { text: icons.running, style: "cyan" } : { text: icons.idle, style: "green" };
      },
    },
    { title: "Queue", cell: ({ name }) => name, min: 12 },
    {
      title: "State",
      cell: ({ paused, pausedUntil }) =>
        !paused ? "open" : `paused${pausedUntil ? ` until ${moment(pausedUntil, now, page.zone)}` : ""}`,
    },
    { title: "Ready", cell: ({ ready }) => grouped(ready), align: "right" },
    {
      title: "Oldest",
      cell: ({ oldest }) => (oldest ? span(Number(now) - Number(oldest)) : icons.none),
      align: "right",
    },
    { title: "Running", cell: ({ running }) => grouped(running), align: "right" },
    { title: "Limit", cell: ({ limit }) => (limit === 0 ? icons.none : grouped(limit)), align: "right" },
    { title: "Scheduled", cell: ({ scheduled }) => grouped(scheduled), align: "right", drop: 1 },
    { title: "Workers", cell: ({ name }) => serving(name).length, align: "right", drop: 2 },
  ];
}
