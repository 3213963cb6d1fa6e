import type { ProgressView } from "../../../src/dashboard/api/contract.ts";
import { formatNumber, formatShare } from "../text/number.ts";
import { visibleText } from "../text/visible.ts";
import { Gauge } from "./gauge.tsx";

/** How far a run is: a bar with figures, or the text that its handler stored. */
export function Progress({ progress }: { progress: ProgressView }) {
  const { done, of, text } = progress;
  if (done === null) return text === null ? null : <bdi class="progress-text">{visibleText(text)}</bdi>;
  if (of === null || of <= 0) return <span class="progress">{formatNumber(done)} done</span>;
  return (
    <span class="progress">
      <Gauge label="Progress" used={done} total={of} />
      <span class="progress-figures">
        {formatNumber(done)} of {formatNumber(of)} · {formatShare(done / of)}
      </span>
    </span>
  );
}
