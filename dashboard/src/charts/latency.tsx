import type { TrendView } from "../../../src/dashboard/api/contract.ts";
import { formatDuration } from "../time/format.ts";
import { ChartFrame, type Plot, runsOfPoint } from "./frame.tsx";
import { durationTicks, linePath } from "./scale.ts";

const LINES = [
  { key: "wait-p95", text: "wait p95", of: "waited", at: "p95" },
  { key: "wait-p50", text: "wait p50", of: "waited", at: "p50" },
  { key: "run-p95", text: "run p95", of: "took", at: "p95" },
  { key: "run-p50", text: "run p50", of: "took", at: "p50" },
] as const;

interface LatencyChartProps {
  trend: TrendView;
  height?: number;
  /** Query of the runs that the chart shows, such as `job:mail`: a click on a point lists the runs of its time. */
  q?: string;
}

/** How long runs waited and took: the median as a line, the 95th percentile dashed. */
export function LatencyChart({ trend, height = 190, q = "" }: LatencyChartProps) {
  const most = Math.max(0, ...trend.points.flatMap(({ waited, took }) => [waited?.p95 ?? 0, took?.p95 ?? 0]));
  return (
    <ChartFrame
      label={`Times in ${trend.over}: ${summary(trend)}`}
      trend={trend}
      height={height}
      linkOf={(index) => runsOfPoint(trend, index, q)}
      empty={most === 0 ? "No run ended in this time" : undefined}
      ticks={durationTicks(most, 3)}
      formatTick={(value) => (value === 0 ? "0" : formatDuration(value))}
      draw={(plot) =>
        LINES.map(({ key, of, at }) => (
          <g key={key} class={`line line-${key}`}>
            <path d={pathOf(trend, plot, of, at)} />
            {lonePoints(trend, plot, of, at)}
          </g>
        ))
      }
      describe={(index) => (
        <dl class="chart-values">
          {LINES.map(({ key, text, of, at }) => (
            <div key={key}>
              <dt>
                <LineSample name={key} /> {text}
              </dt>
              <dd>{valueText(trend.points[index]![of]?.[at])}</dd>
            </div>
          ))}
        </dl>
      )}
    />
  );
}

/** The legend of the chart, for the head of its panel. */
export function LatencyLegend() {
  return (
    <ul class="legend">
      {LINES.toReversed().map(({ key, text }) => (
        <li key={key}>
          <LineSample name={key} /> {text}
        </li>
      ))}
    </ul>
  );
}

function LineSample({ name }: { name: string }) {
  return (
    <svg class={`line line-${name}`} width="18" height="8" aria-hidden="true">
      <path d="M0 4H18" />
    </svg>
  );
}

type Part = (typeof LINES)[number];

function pointOf(trend: TrendView, plot: Plot, index: number, of: Part["of"], at: Part["at"]) {
  const value = trend.points[index]?.[of]?.[at];
  return value === undefined ? null : ([plot.x(index) + plot.band / 2, plot.y(value)] as const);
}

function pathOf(trend: TrendView, plot: Plot, of: Part["of"], at: Part["at"]): string {
  return linePath(trend.points.map((_, index) => pointOf(trend, plot, index, of, at)));
}

/** A point without neighbours makes no line: it gets a dot. */
function lonePoints(trend: TrendView, plot: Plot, of: Part["of"], at: Part["at"]) {
  return trend.points.map((point, index) => {
    const place = pointOf(trend, plot, index, of, at);
    const neighbours = trend.points[index - 1]?.[of] ?? trend.points[index + 1]?.[of];
    return place && !neighbours ? <circle key={point.at} cx={place[0]} cy={place[1]} r="2" /> : null;
  });
}

function valueText(value: number | undefined): string {
  return value === undefined ? "—" : formatDuration(value);
}

function summary({ total }: TrendView): string {
  return LINES.map(({ text, of, at }) => `${text} ${valueText(total[of]?.[at])}`).join(", ");
}
