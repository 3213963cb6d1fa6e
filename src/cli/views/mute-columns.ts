import type { MuteInfo } from "../../status/report.ts";
import { ago, grouped, moment } from "../render/formats.ts";
import type { Page } from "../render/page.ts";
import type { Column } from "../render/table.ts";

/** A mute, with the failed runs that it concerns. */
export interface MuteLine extends MuteInfo {
  /** Failed runs of the group that are kept. */
  count: number;
  jobs: string[];
  /** Null: no failed run of the group is kept. */
  error: string | null;
}

/** Columns of `list mutes`. */
export function muteColumns(now: Date, page: Page): Column<MuteLine>[] {
  const { icons, zone } = page;
  return [
    { title: "Fingerprint", cell: ({ fingerprint }) => fingerprint },
    { title: "Since", cell: ({ since }) => ago(since, now) },
    { title: "Until", cell: ({ until }) => (until ? moment(until, now, zone) : "unmuted") },
    { title: "By", cell: ({ by }) => by ?? icons.none, drop: 2 },
    { title: "Reason", cell: ({ reason }) => reason ?? icons.none, min: 12 },
    { title: "Count", cell: ({ count }) => grouped(count), align: "right", drop: 1 },
    { title: "Error", cell: ({ error }) => ({ text: error ?? icons.none, style: "red" }), min: 16 },
  ];
}
