import type { Span, TrendView } from "../../../src/dashboard/api/contract.ts";
import { Choice } from "../components/choice.tsx";
import { Panel } from "../components/panel.tsx";
import { plural } from "../text/number.ts";
import { LatencyChart, LatencyLegend } from "./latency.tsx";
import { ThroughputChart, ThroughputLegend } from "./throughput.tsx";

export const SPANS: readonly { value: Span; label: string }[] = [
  { value: "1h", label: "1h" },
  { value: "6h", label: "6h" },
  { value: "24h", label: "24h" },
  { value: "7d", label: "7d" },
];

interface TrendProps {
  trend: TrendView;
  over: Span;
  onOver(span: Span): void;
  /** Query of the runs that the charts show: a click on a point lists those of its time. */
  q: string;
}

/** Throughput and times of a job or a queue, beside each other. */
export function Trend({ trend, over, onOver, q }: TrendProps) {
  return (
    <div class="trend">
      <Panel
        title={throughputTitle(trend)}
        aside={
          <>
            <ThroughputLegend />
            <Choice label="Span" value={over} options={SPANS} onChange={onOver} />
          </>
        }
      >
        <ThroughputChart trend={trend} height={160} q={q} />
      </Panel>
      <Panel title="Wait and run time" aside={<LatencyLegend />}>
        <LatencyChart trend={trend} height={160} q={q} />
      </Panel>
    </div>
  );
}

/** The title of a throughput chart, with the time that one of its bars covers. */
export function throughputTitle({ step }: TrendView): string {
  const minutes = Math.round(step / 60_000);
  const hours = minutes / 60;
  const bar = Number.isInteger(hours) ? plural(hours, "hour") : plural(minutes, "minute");
  return `Runs per ${bar.replace(/^1 /, "")}`;
}
