import { format } from "./table.ts";

export interface Bar {
  name: string;
  value: number;
  /** Ends of the spread, drawn as a line. */
  low: number;
  high: number;
  /** Drawn in the stronger colour. */
  own: boolean;
}

export interface Chart {
  title: string;
  unit: string;
  bars: Bar[];
}

const WIDTH = 760;
const LABELS = 240;
const FIGURES = 90;
const ROW = 30;
const TOP = 44;

const STYLE = `
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
  .title { font-weight: 600; font-size: 15px; }
  .bar { fill: #afb8c1; }
  .own { fill: #0969da; }
  .spread { stroke: #1f2328; stroke-width: 1.5; opacity: .55; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .bar { fill: #545d68; }
    .own { fill: #4493f8; }
    .spread { stroke: #e6edf3; }
  }`;

const escaped = (text: string) => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);

/** Says in words what the chart shows. */
export function describeChart({ title, unit, bars }: Chart): string {
  return `${title}: ${bars.map(({ name, value }) => `${name} ${format(value)}`).join(", ")} ${unit}.`;
}

/** Horizontal bars, in light or dark colours as the reader's system prefers. */
export function barChart(chart: Chart): string {
  const { title, unit, bars } = chart;
  const most = Math.max(...bars.map(({ high }) => high));
  const scale = (value: number) => (value / most) * (WIDTH - LABELS - FIGURES);
  const height = TOP + bars.length * ROW + 6;
  const rows = bars.map(({ name, value, low, high, own }, index) => {
    const y = TOP + index * ROW;
    const [from, to] = [LABELS + scale(low), LABELS + scale(high)].map((x) => x.toFixed(1));
    return `  <text x="${LABELS - 10}" y="${y + 16}" text-anchor="end">${escaped(name)}</text>
  <rect class="bar${own ? " own" : ""}" x="${LABELS}" y="${y}" width="${Math.max(1, scale(value)).toFixed(1)}" height="22" rx="2"/>
  <line class="spread" x1="${from}" x2="${to}" y1="${y + 11}" y2="${y + 11}"/>
  <text x="${(Number(to) + 8).toFixed(1)}" y="${y + 16}">${format(value)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title desc">
  <title id="title">${escaped(title)}</title>
  <desc id="desc">${escaped(describeChart(chart))}</desc>
  <style>${STYLE}
  </style>
  <text class="title" x="0" y="20">${escaped(title)}, ${escaped(unit)}</text>
${rows.join("\n")}
</svg>
`;
}
