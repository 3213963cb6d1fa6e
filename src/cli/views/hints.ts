import { pruneJobCommand, shellQuote } from "../../status/hints.ts";
import { plain } from "../output/output.ts";
import type { Page } from "../render/page.ts";
import { cut, widthOf } from "../render/width.ts";
import type { JobView } from "./job-state.ts";

/** The hint below a status, `1 failing, 1 late. Details: punctual show send-invoice`; null: nothing is wrong. */
export function hintLine(views: JobView[], page: Page): string | null {
  const failing = views.filter(({ isFailing }) => isFailing);
  const late = views.filter(({ isLate }) => isLate);
  const unknown = views.filter(({ state }) => state === "unknown");
  const counts = [
    ...(failing.length > 0 ? [`${failing.length} failing`] : []),
    ...(late.length > 0 ? [`${late.length} late`] : []),
    ...(unknown.length > 0 ? [`${unknown.length} without a worker`] : []),
  ];
  if (counts.length === 0) return null;
  const details = [
    ...(failing.length > 1 ? ["punctual list failures"] : []),
    ...[...failing, ...late]
      .filter(isNameable)
      .slice(0, 1)
      .map(({ job }) => `punctual show ${shellQuote(job.name)}`),
    ...views
      .filter((view) => view.isGone && isNameable(view))
      .slice(0, 1)
      .map(({ job }) => pruneJobCommand(job.name)),
  ];
  const width = page.width ?? Number.POSITIVE_INFINITY;
  const head = `${counts.join(", ")}.`;
  let line = head;
  for (const detail of details) {
    const longer = `${line}${line === head ? " Details: " : ` ${page.icons.dot} `}${detail}`;
    if (widthOf(longer) <= width) line = longer;
  }
  return cut(line, width, page.icons.ellipsis);
}

/** Whether the name of the job can be typed: it contains no control characters. */
function isNameable({ job }: JobView): boolean {
  return plain(job.name) === job.name;
}
