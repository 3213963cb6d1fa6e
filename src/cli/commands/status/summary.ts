import type { StatusReport } from "../../../status/report.ts";
import { plain } from "../../output/output.ts";
import type { Page } from "../../render/page.ts";
import { clock, offset } from "../../render/times.ts";
import { widthOf } from "../../render/width.ts";
import type { JobView } from "../../views/job-state.ts";

const FEWEST_SPACES = 3;
const MOST_SPACES = 8;

/** `Defined: 10 | Running: 2 | Idle: 8`, followed by as many further figures as fit. */
export function summaryLine(
  report: StatusReport,
  views: JobView[],
  database: string | null,
  page: Page,
): string {
  const left = `Defined: ${report.defined} | Running: ${report.running} | Idle: ${report.idle}`;
  const { queues, workers, now } = report;
  const paused = queues.filter((queue) => queue.paused).length;
  const late = views.filter(({ isLate }) => isLate).length;
  const parts = [
    `Queues: ${queues.length}${paused > 0 ? ` (${paused} paused)` : ""}`,
    `Workers: ${workers.filter(({ parallel }) => parallel > 0).length} live`,
    ...(late > 0 ? [`Late: ${late}`] : []),
    ...(database === null ? [] : [`db ${plain(database)}`]),
    `${clock(now, page.zone)} ${offset(now, page.zone)}`,
  ];
  const room = (page.width ?? Number.POSITIVE_INFINITY) - left.length;
  // If there is no room, the database is dropped first, because it is long and the user knows it; then from the right.
  const width = () => widthOf(parts.join(" | ")) + FEWEST_SPACES;
  if (width() > room && database !== null) parts.splice(-2, 1);
  while (parts.length > 0 && width() > room) parts.pop();
  if (parts.length === 0) return page.paint("bold", left);
  const right = parts.join(" | ");
  const spaces = page.width === null ? MOST_SPACES : Math.min(MOST_SPACES, room - widthOf(right));
  return `${page.paint("bold", left)}${" ".repeat(spaces)}${page.paint("dim", right)}`;
}
