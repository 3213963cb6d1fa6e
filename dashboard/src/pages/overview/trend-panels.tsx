import type { Span } from "../../../../src/dashboard/api/contract.ts";
import { COUNTS, useResource } from "../../api/resource.ts";
import { LatencyChart, LatencyLegend } from "../../charts/latency.tsx";
import { ThroughputChart, ThroughputLegend } from "../../charts/throughput.tsx";
import { throughputTitle } from "../../charts/trend.tsx";
import { Choice } from "../../components/choice.tsx";
import { Panel } from "../../components/panel.tsx";
import { ProblemText } from "../../components/problem.tsx";
import { query, setQuery } from "../../router/router.ts";

const SPANS: readonly Span[] = ["1h", "6h", "24h", "7d"];
/** A point covers a minute or more: reading the trend more often than this shows nothing new. */
const EVERY = 10_000;

export function chosenSpan(): Span {
  const chosen = query.value.get("over");
  return SPANS.find((span) => span === chosen) ?? "6h";
}

export function SpanChoice() {
  return (
    <Choice
      label="Span of time"
      value={chosenSpan()}
      options={SPANS.map((span) => ({ value: span, label: span }))}
      onChange={(over) => setQuery({ over: over === "6h" ? null : over }, { replace: true })}
    />
  );
}

/** The two charts of the overview, over the span that the address names. */
export function TrendPanels() {
  const { data, problem } = useResource(
    "GET /trend",
    { query: { over: chosenSpan() } },
    { every: EVERY, ...COUNTS },
  );
  return (
    <div class="halves">
      <Panel
        title={data ? throughputTitle(data) : "Runs"}
        aside={
          <>
            <ThroughputLegend />
            <SpanChoice />
          </>
        }
      >
        {data ? <ThroughputChart trend={data} /> : <ChartPlace problem={problem} />}
      </Panel>
      <Panel title="Wait and run time" aside={<LatencyLegend />}>
        {data ? <LatencyChart trend={data} /> : <ChartPlace problem={problem} />}
      </Panel>
    </div>
  );
}

function ChartPlace({ problem }: { problem: Parameters<typeof ProblemText>[0]["problem"] | null }) {
  return <div class="chart-place">{problem && <ProblemText problem={problem} />}</div>;
}
