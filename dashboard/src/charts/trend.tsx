import type { Span, TrendView } from "../../../src/dashboard/api/contract.ts";
import { Choice } from "../components/choice.tsx";
import { Panel } from "../components/panel.tsx";
import { LatencyChart, LatencyLegend } from "./latency.tsx";
import { ThroughputChart } from "./throughput.tsx";

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
}

/** Throughput and times of a job or a queue, beside each other. */
export function Trend({ trend, over, onOver }: TrendProps) {
  return (
    <div class="trend">
      <Panel
        title="Throughput"
        aside={<Choice label="Span" value={over} options={SPANS} onChange={onOver} />}
      >
        <ThroughputChart trend={trend} height={160} />
      </Panel>
      <Panel title="Time" aside={<LatencyLegend />}>
        <LatencyChart trend={trend} height={160} />
      </Panel>
    </div>
  );
}
