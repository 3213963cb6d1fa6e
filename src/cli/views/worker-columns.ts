import type { StatusReport } from "../../status/report.ts";
import type { Page } from "../render/page.ts";
import type { Column } from "../render/table.ts";
import { ago, stamp } from "../render/times.ts";
import { servedText } from "./served.ts";

type Worker = StatusReport["workers"][number];

/** Columns of `list workers` and `status --workers`. */
export function workerColumns({ now }: StatusReport, page: Page): Column<Worker>[] {
  return [
    { title: "Worker", cell: ({ host, pid }) => `${host}:${pid}`, min: 16 },
    { title: "Id", cell: ({ id }) => id, drop: 1 },
    { title: "Parallel", cell: ({ parallel }) => parallel, align: "right" },
    { title: "Queues", cell: servedText, min: 12 },
    { title: "Ticks", cell: ({ schedules }) => (schedules ? "yes" : "no"), drop: 3 },
    { title: "Started", cell: ({ startedAt }) => stamp(startedAt, page.zone), drop: 2 },
    { title: "Seen", cell: ({ seenAt }) => ago(seenAt, now) },
  ];
}
