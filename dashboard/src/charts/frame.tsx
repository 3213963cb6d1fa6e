import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { TrendView } from "../../../src/dashboard/api/contract.ts";
import { shownZone } from "../components/time.tsx";
import { pathTo } from "../router/path.ts";
import { navigate } from "../router/router.ts";
import { formatClock, formatDay, formatShort } from "../time/format.ts";
import { linear } from "./scale.ts";
import { roundPoints } from "./time-axis.ts";
import { useWidth } from "./use-width.ts";

/** Measures of a chart, for what is drawn inside. */
export interface Plot {
  /** Left edge of a point's span, and its width. */
  x(index: number): number;
  band: number;
  y(value: number): number;
  zero: number;
}

interface ChartFrameProps {
  /** Accessible description of what the chart shows. */
  label: string;
  trend: TrendView;
  /** Values of the horizontal lines, from 0 upwards. */
  ticks: readonly number[];
  formatTick(value: number): string;
  /** Draws the data. */
  draw(plot: Plot): ComponentChildren;
  /** Text of a point, in the box beside the pointer. */
  describe(index: number): ComponentChildren;
  height?: number;
  /** Page that a click on a point leads to. */
  linkOf?(index: number): string;
  /** Text in place of data, if there is none. */
  empty?: string | undefined;
}

const LEFT = 44;
const BOTTOM = 22;
const TOP = 8;
const LABEL_WIDTH = 58;

/** Axes, grid and pointer of a chart over time. The left and right keys read the points, once it has the focus. */
export function ChartFrame({
  label,
  trend,
  ticks,
  formatTick,
  draw,
  describe,
  height = 190,
  linkOf,
  empty,
}: ChartFrameProps) {
  const { ref, width } = useWidth<HTMLDivElement>();
  const pointed = useSignal<number | null>(null);
  const count = trend.points.length;
  const right = Math.max(LEFT + 1, width);
  const zero = height - BOTTOM;
  const band = count === 0 ? 0 : (right - LEFT) / count;
  const plot: Plot = {
    x: (index) => LEFT + index * band,
    band,
    y: linear(ticks.at(-1) ?? 1, zero, TOP),
    zero,
  };
  const move = (step: number) => {
    pointed.value = Math.min(count - 1, Math.max(0, (pointed.value ?? count) + step));
  };
  const at = pointed.value === null || pointed.value >= count ? null : pointed.value;
  return (
    <div class="chart" ref={ref}>
      <svg
        role="img"
        aria-label={label}
        width={width}
        height={height}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys read the points.
        tabIndex={0}
        onMouseMove={({ offsetX }) => {
          const index = Math.floor((offsetX - LEFT) / band);
          pointed.value = index >= 0 && index < count ? index : null;
        }}
        onClick={() => {
          if (linkOf && pointed.value !== null) navigate(linkOf(pointed.value));
        }}
        onMouseLeave={() => {
          pointed.value = null;
        }}
        onBlur={() => {
          pointed.value = null;
        }}
        onKeyDown={({ key }) => {
          if (key === "ArrowLeft") move(-1);
          else if (key === "ArrowRight") move(1);
          else if (key === "Enter" && linkOf && pointed.value !== null) navigate(linkOf(pointed.value));
        }}
      >
        {ticks.map((tick) => (
          <g key={tick}>
            <line
              class={tick === 0 ? "chart-zero" : "chart-grid"}
              x1={LEFT}
              x2={right}
              y1={plot.y(tick)}
              y2={plot.y(tick)}
            />
            <text class="chart-text" x={LEFT - 8} y={plot.y(tick) + 4} text-anchor="end">
              {formatTick(tick)}
            </text>
          </g>
        ))}
        {at !== null && (
          <rect class="chart-pointer" x={plot.x(at)} y={TOP} width={band} height={zero - TOP} />
        )}
        {width > 0 && draw(plot)}
        {empty && (
          <text class="chart-empty" x={(LEFT + right) / 2} y={zero / 2 + 4} text-anchor="middle">
            {empty}
          </text>
        )}
        <TimeLabels trend={trend} plot={plot} right={right} height={height} />
      </svg>
      {at !== null && (
        <div
          class="chart-box"
          role="status"
          ref={(box) => {
            const left = plot.x(at) + band / 2;
            const beyond = left > right * 0.6;
            box?.style.setProperty("left", `${left + (beyond ? -12 : 12)}px`);
            box?.style.setProperty("translate", beyond ? "-100% 0" : "0 0");
          }}
        >
          <div class="chart-box-title">{spanText(trend, at)}</div>
          {describe(at)}
        </div>
      )}
    </div>
  );
}

function TimeLabels({
  trend,
  plot,
  right,
  height,
}: {
  trend: TrendView;
  plot: Plot;
  right: number;
  height: number;
}) {
  const { points, step } = trend;
  const zone = shownZone();
  const clockOf = (index: number) => formatClock(Date.parse(points[index]!.at), zone);
  const minuteOfDay = (index: number) => {
    const [hour, minute] = clockOf(index).split(":").map(Number);
    return hour! * 60 + minute!;
  };
  return (
    <>
      {roundPoints(points.length, step, (right - LEFT) / LABEL_WIDTH, minuteOfDay).map((index) => {
        const x = plot.x(index);
        const anchor = x > right - 30 ? "end" : x < LEFT + 20 ? "start" : "middle";
        return (
          <text
            key={index}
            class="chart-text"
            x={anchor === "end" ? right : x}
            y={height - 5}
            text-anchor={anchor}
          >
            {clockOf(index) === "00:00" ? formatDay(Date.parse(points[index]!.at), zone) : clockOf(index)}
          </text>
        );
      })}
    </>
  );
}

function spanText(trend: TrendView, index: number): string {
  const from = Date.parse(trend.points[index]!.at);
  const last = formatClock(from + trend.step, shownZone());
  return `${formatShort(from, Date.now(), shownZone())} – ${last}`;
}

/** Returns the page that lists the runs of a point. `q` narrows it further. */
export function runsOfPoint({ points, step }: TrendView, index: number, q = ""): string {
  const from = new Date(points[index]!.at);
  const to = new Date(from.getTime() + step);
  const text = (time: Date) => time.toISOString().replace(/(:00)?\.\d+Z$/, "Z");
  return pathTo("/runs", {}, { q: `${q} after:${text(from)} before:${text(to)}`.trim() });
}
