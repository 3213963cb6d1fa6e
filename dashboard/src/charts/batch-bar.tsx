import type { BatchView } from "../../../src/dashboard/api/contract.ts";
import { formatNumber, formatShare } from "../text/number.ts";

const PARTS = ["completed", "failed", "cancelled", "skipped"] as const;

/** Least share of a part that exists: one failure among 100,000 members can be seen. */
const LEAST = 0.015;

/** How far a batch is: a bar with a part for each way in which members have ended, and figures. */
export function BatchBar({ batch }: { batch: BatchView }) {
  const { total, unfinished } = batch;
  const ended = total - unfinished;
  const counts = PARTS.filter((part) => batch[part] > 0).map(
    (part) => `${formatNumber(batch[part])} ${part}`,
  );
  const label = [`${formatNumber(ended)} of ${formatNumber(total)} members have ended`, ...counts].join(", ");
  return (
    <span class="batch-bar">
      <svg viewBox="0 0 1 1" preserveAspectRatio="none" role="img" aria-label={label}>
        {partsOf(batch).map(({ part, from, width }) => (
          <rect key={part} class={`part-${part}`} x={from} width={width} height="1" />
        ))}
      </svg>
      <span class="progress-figures">
        {total === 0
          ? "no members"
          : `${formatNumber(ended)} of ${formatNumber(total)} · ${formatShare(wholeShare(ended, total))}`}
      </span>
    </span>
  );
}

/** Only what has ended is 100 %. */
function wholeShare(ended: number, total: number): number {
  const share = ended / total;
  return share < 1 ? Math.min(share, 0.99) : share;
}

function partsOf(batch: BatchView): { part: string; from: number; width: number }[] {
  let from = 0;
  return PARTS.filter((part) => batch[part] > 0).map((part) => {
    const width = Math.max(batch[part] / batch.total, LEAST);
    // Parts that were widened take their room from the first one, if the rest has none.
    const place = { part, from: Math.min(from, 1 - LEAST), width };
    from += width;
    return place;
  });
}
