import { type RateInfo, rateSubject, rateText } from "../../status/rates.ts";
import { grouped, moment } from "../render/formats.ts";
import type { Page } from "../render/page.ts";
import type { Column } from "../render/table.ts";

/** Columns of `rates` and `list rates`. */
export function rateColumns(now: Date, page: Page): Column<RateInfo>[] {
  const { icons } = page;
  return [
    {
      title: "",
      cell: ({ opensAt }) =>
        opensAt ? { text: icons.late, style: "yellow" } : { text: icons.idle, style: "green" },
    },
    { title: "Of", cell: rateSubject, min: 12 },
    { title: "Rate", cell: rateText },
    { title: "Spent", cell: ({ spent }) => grouped(spent), align: "right" },
    { title: "Free", cell: ({ spent, limit }) => grouped(Math.max(0, limit - spent)), align: "right" },
    {
      title: "Opens",
      cell: ({ opensAt, slowedUntil }) =>
        opensAt ? `${moment(opensAt, now, page.zone)}${slowedUntil ? ", slowed down" : ""}` : "open",
    },
  ];
}
