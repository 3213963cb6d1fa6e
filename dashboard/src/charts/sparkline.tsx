import { formatNumber } from "../text/number.ts";

interface SparklineProps {
  /** Values, the oldest first; `failed` is the warm part at the bottom. */
  points: readonly { completed: number; failed: number }[];
  /** Accessible name, such as "Runs of the last hour". */
  label: string;
  width?: number;
  height?: number;
}

/** A small chart in a line of text: a bar for each point, failed ones in the colour of failures. */
export function Sparkline({ points, label, width = 72, height = 18 }: SparklineProps) {
  const most = Math.max(1, ...points.map(({ completed, failed }) => completed + failed));
  const band = width / Math.max(1, points.length);
  const failures = points.reduce((sum, { failed }) => sum + failed, 0);
  const total = points.reduce((sum, { completed }) => sum + completed, failures);
  return (
    <svg
      class="sparkline"
      width={width}
      height={height}
      role="img"
      aria-label={`${label}: ${formatNumber(total)}, ${formatNumber(failures)} failed`}
    >
      <line class="spark-zero" x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} />
      {points.map(({ completed, failed }, index) => {
        const full = ((completed + failed) / most) * height;
        const warm = failed > 0 ? Math.max(2, (failed / most) * height) : 0;
        const bar = { x: index * band + 0.5, width: Math.max(1, band - 1) };
        return (
          <g key={index}>
            {completed > 0 && (
              <rect class="spark-completed" {...bar} y={height - full} height={Math.max(1, full - warm)} />
            )}
            {warm > 0 && <rect class="spark-failed" {...bar} y={height - warm} height={warm} />}
          </g>
        );
      })}
    </svg>
  );
}
