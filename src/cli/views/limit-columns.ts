import { rateText } from "../../status/rates.ts";
import type { StatusReport } from "../../status/report.ts";
import { grouped } from "../render/formats.ts";
import type { Page } from "../render/page.ts";
import type { Column } from "../render/table.ts";

/** A named limit, or a job with a rate. */
interface LimitRow {
  of: string;
  running: number;
  /** Most runs at once; 0: no limit. Null: no process has defined the limit. */
  limit: number | null;
  rates: string[];
  /** The jobs under a named limit. */
  jobs: string[];
}

/** Returns the named limits, then the jobs with rates. */
export function limitRows({ limits, jobs }: StatusReport): LimitRow[] {
  return [
    ...limits.map(({ name, limit, rate, running, jobs }) => ({
      of: `limit ${name}`,
      rates: rate ? [rateText(rate)] : [],
      ...{ limit, running, jobs },
    })),
    ...jobs
      .filter(({ rates }) => rates?.job || rates?.key)
      .map(({ name, limit, running, rates }) => ({
        of: `job ${name}`,
        rates: [
          ...(rates!.job ? [rateText(rates!.job)] : []),
          ...(rates!.key ? [`${rateText(rates!.key)} a key`] : []),
        ],
        ...{ limit, running, jobs: [] },
      })),
  ];
}

/** The second table of `status --queues`. */
export function limitColumns({ icons }: Page): Column<LimitRow>[] {
  return [
    {
      title: "",
      gap: 1,
      cell: ({ limit, running }) => {
        if (limit === null) return { text: icons.late, style: "yellow" };
        return running > 0 ? { text: icons.running, style: "cyan" } : { text: icons.idle, style: "green" };
      },
    },
    { title: "Limit Of", cell: ({ of }) => of, min: 16 },
    {
      title: "Running",
      cell: ({ limit, running }) => {
        if (limit === null) return { text: "not defined", style: "yellow" };
        return limit === 0 ? grouped(running) : `${grouped(running)} of ${grouped(limit)}`;
      },
      align: "right",
    },
    { title: "Rate", cell: ({ rates }) => rates.join("; ") || icons.none, min: 12 },
    { title: "Jobs", cell: ({ jobs }) => jobs.join(", "), min: 12, drop: 1 },
  ];
}
