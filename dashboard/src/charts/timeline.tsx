import type { ComponentChildren } from "preact";
import type { AttemptView, RunDetail } from "../../../src/dashboard/api/contract.ts";
import { StateBadge, type Tone } from "../components/state-badge.tsx";
import { Duration, Time } from "../components/time.tsx";
import { visibleText } from "../text/visible.ts";
import { now } from "../time/clock.ts";
import { formatDuration } from "../time/format.ts";
import { type AttemptRow, attemptTimeline, type Segment } from "./attempt-rows.ts";

const TONES: Record<AttemptView["outcome"], { tone: Tone; label: string }> = {
  retried: { tone: "retrying", label: "retried" },
  failed: { tone: "failed", label: "failed" },
  crashed: { tone: "failed", label: "crashed" },
  lost: { tone: "retrying", label: "lost" },
  released: { tone: "retrying", label: "released" },
  running: { tone: "running", label: "running" },
  completed: { tone: "completed", label: "completed" },
  cancelled: { tone: "cancelled", label: "cancelled" },
  skipped: { tone: "skipped", label: "skipped" },
};

const KINDS: Record<Segment["kind"], string> = { wait: "waited", run: "ran", backoff: "backed off" };

/** The attempts of a run in the order of time: how long each waited, ran and backed off. */
export function Timeline({ run }: { run: RunDetail }) {
  const active = run.state === "running" || run.state === "ready" || run.state === "scheduled";
  // A finished run does not change with the clock.
  const { from, to, rows } = attemptTimeline(run, active ? now.value : now.peek());
  return (
    <table class="timeline">
      <caption class="visually-hidden">Attempts</caption>
      <thead class="visually-hidden">
        <tr>
          <th scope="col">Attempt</th>
          <th scope="col">Outcome</th>
          <th scope="col">Time</th>
          <th scope="col">Took</th>
          <th scope="col">Error</th>
          <th scope="col">Worker</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Row key={row.attempt.attempt} row={row} from={from} span={to - from} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ row, from, span }: { row: AttemptRow; from: number; span: number }) {
  const { attempt, segments, took } = row;
  return (
    <tr>
      <th scope="row" class="timeline-number">
        {attempt.attempt}
      </th>
      <td class="timeline-outcome">
        <StateBadge {...TONES[attempt.outcome]} />
      </td>
      <td class="timeline-bar">
        <svg width="100%" height="16" role="img" aria-label={segments.map(describe).join(", ")}>
          {segments.map((segment) => (
            <Bar
              key={segment.kind + segment.from}
              segment={segment}
              from={from}
              span={span}
              tone={attempt.outcome}
            />
          ))}
        </svg>
      </td>
      <td class="timeline-took">
        <Duration ms={took} />
      </td>
      <td class="timeline-error">
        {attempt.error && (
          <bdi title={visibleText(`${attempt.error.name}: ${attempt.error.message}`)}>
            {visibleText(attempt.error.message)}
          </bdi>
        )}
        {!attempt.error && attempt.startedAt && (
          <span class="muted">
            started <Time at={attempt.startedAt} as="short" />
          </span>
        )}
      </td>
      <td class="timeline-worker muted">{attempt.worker}</td>
    </tr>
  );
}

interface BarProps {
  segment: Segment;
  from: number;
  span: number;
  tone: AttemptView["outcome"];
}

function Bar({ segment, from, span, tone }: BarProps) {
  const x = ((segment.from - from) / span) * 100;
  const width = ((segment.to - segment.from) / span) * 100;
  const title = <title>{describe(segment)}</title>;
  if (segment.kind === "backoff") {
    return (
      <line class="bar-backoff" x1={`${x}%`} x2={`${x + width}%`} y1="8" y2="8">
        {title}
      </line>
    );
  }
  // An attempt of a millisecond within an hour is still visible.
  return (
    <rect
      class={segment.kind === "wait" ? "bar-wait" : `bar-run bar-${tone}`}
      x={`${Math.min(x, 99.5)}%`}
      y={segment.kind === "wait" ? 5 : 2}
      width={`${Math.max(width, 0.5)}%`}
      height={segment.kind === "wait" ? 6 : 12}
      rx="1"
    >
      {title}
    </rect>
  );
}

function describe({ kind, from, to }: Segment): string {
  return `${KINDS[kind]} ${formatDuration(to - from)}`;
}

/** Meaning of the bars. */
export function TimelineLegend() {
  return (
    <ul class="legend">
      <li>
        <Sample>
          <rect class="bar-wait" y="3" width="14" height="6" rx="1" />
        </Sample>
        wait
      </li>
      <li>
        <Sample>
          <rect class="bar-run" width="14" height="12" rx="1" />
        </Sample>
        run
      </li>
      <li>
        <Sample>
          <line class="bar-backoff" x2="14" y1="6" y2="6" />
        </Sample>
        backoff
      </li>
    </ul>
  );
}

function Sample({ children }: { children: ComponentChildren }) {
  return (
    <svg width="14" height="12" aria-hidden="true">
      {children}
    </svg>
  );
}
