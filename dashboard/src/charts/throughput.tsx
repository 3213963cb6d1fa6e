import { useId } from "preact/hooks";
import type { TrendPointView, TrendView } from "../../../src/dashboard/api/contract.ts";
import { formatCompact, formatNumber } from "../text/number.ts";
import { ChartFrame, type Plot, runsOfPoint } from "./frame.tsx";
import { niceTicks } from "./scale.ts";

interface ThroughputChartProps {
  trend: TrendView;
  height?: number;
  /** Query of the runs that the chart shows, such as `job:mail`: a click on a point lists the runs of its time. */
  q?: string;
}

/** Attempts per point of time: failed and retried ones hatched, on the axis; completed ones stacked on them. */
export function ThroughputChart({ trend, height = 190, q = "" }: ThroughputChartProps) {
  const hatch = useId();
  const most = Math.max(
    0,
    ...trend.points.map(({ counts }) => counts.failed + counts.retried + counts.completed),
  );
  const { completed, failed, retried } = trend.total.counts;
  return (
    <ChartFrame
      label={`Throughput: ${formatNumber(completed)} completed, ${formatNumber(failed)} failed, ${formatNumber(retried)} retried in ${trend.over}`}
      trend={trend}
      height={height}
      linkOf={(index) => runsOfPoint(trend, index, q)}
      empty={most === 0 ? "No run ended in this time" : undefined}
      ticks={niceTicks(most, 3)}
      formatTick={formatCompact}
      draw={(plot) => (
        <>
          <Hatches id={hatch} />
          {trend.points.map((point, index) => (
            <Bar key={point.at} point={point} index={index} plot={plot} hatch={hatch} />
          ))}
        </>
      )}
      describe={(index) => <Counts point={trend.points[index]!} />}
    />
  );
}

const SERIES = ["failed", "retried", "completed"] as const;

function Bar({
  point,
  index,
  plot,
  hatch,
}: {
  point: TrendPointView;
  index: number;
  plot: Plot;
  hatch: string;
}) {
  const gap = plot.band > 6 ? 2 : plot.band > 3 ? 1 : 0;
  let below = 0;
  return (
    <g>
      {SERIES.map((name) => {
        const value = point.counts[name];
        if (value === 0) return null;
        const bottom = plot.y(below);
        below += value;
        // Of many successes one failure must still be seen.
        const height = Math.max(bottom - plot.y(below), name === "completed" ? 1 : 3);
        const fill = name === "completed" ? {} : { fill: `url(#${hatch}-${name})` };
        return (
          <rect
            key={name}
            class={`bar bar-${name}`}
            x={plot.x(index) + gap / 2}
            y={bottom - height}
            width={Math.max(1, plot.band - gap)}
            height={height}
            {...fill}
          />
        );
      })}
    </g>
  );
}

/** Patterns of the bars that are not quiet: they differ in greyscale, too. */
function Hatches({ id }: { id: string }) {
  return (
    <defs>
      {(["failed", "retried"] as const).map((name) => (
        <pattern
          key={name}
          id={`${id}-${name}`}
          class={`hatch-${name}`}
          width="4"
          height="4"
          patternUnits="userSpaceOnUse"
          patternTransform={`rotate(${name === "failed" ? 45 : -45})`}
        >
          <rect class="hatch-back" width="4" height="4" />
          <rect class="hatch-front" width={name === "failed" ? 2.4 : 1.4} height="4" />
        </pattern>
      ))}
    </defs>
  );
}

/** The legend of the chart, for the head of its panel. */
export function ThroughputLegend() {
  return (
    <ul class="legend">
      {SERIES.toReversed().map((name) => (
        <li key={name}>
          <span class={`swatch swatch-${name}`} aria-hidden="true" /> {name}
        </li>
      ))}
    </ul>
  );
}

function Counts({ point }: { point: TrendPointView }) {
  return (
    <dl class="chart-values">
      {SERIES.toReversed().map((name) => (
        <div key={name}>
          <dt>
            <span class={`swatch swatch-${name}`} aria-hidden="true" /> {name}
          </dt>
          <dd>{formatNumber(point.counts[name])}</dd>
        </div>
      ))}
    </dl>
  );
}
