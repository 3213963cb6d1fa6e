import type { BatchView, RunSummary, ScheduleView, WorkerView } from "../../../src/dashboard/api/contract.ts";
import type { IconName } from "./icon.tsx";
import { Icon } from "./icon.tsx";

/** States of runs, queues, schedules and workers that have a colour. Several words share one. */
export type Tone =
  | "scheduled"
  | "ready"
  | "running"
  | "retrying"
  | "completed"
  | "failed"
  | "cancelled"
  | "skipped"
  | "late"
  | "paused";

interface StateBadgeProps {
  tone: Tone;
  /** The word; default: the name of the tone. */
  label?: string;
  title?: string;
  icon?: IconName;
}

/** A state: icon, word and colour. */
export function StateBadge({ tone, label = tone, title, icon = tone }: StateBadgeProps) {
  return (
    <span class={`state state-${tone}`} title={title}>
      <Icon name={icon} size={14} />
      <span>{label}</span>
    </span>
  );
}

/** The state of a run as people see it: waiting for another attempt is "retrying", overdue is "late". */
export function toneOf(run: Pick<RunSummary, "state" | "retrying" | "late">): Tone {
  if (run.state !== "scheduled" && run.state !== "ready") return run.state;
  if (run.retrying) return "retrying";
  return run.late ? "late" : run.state;
}

export function RunState({
  run,
}: {
  run: Pick<RunSummary, "state" | "retrying" | "late" | "cancelRequested">;
}) {
  const tone = toneOf(run);
  if (run.cancelRequested && run.state === "running")
    return <StateBadge tone="cancelled" label="cancelling" title="Running, and asked to cancel" />;
  return <StateBadge tone={tone} />;
}

const SCHEDULE_TONES: Record<ScheduleView["state"], Tone> = {
  active: "ready",
  late: "late",
  failing: "failed",
  running: "running",
  paused: "paused",
  ended: "cancelled",
};

export function ScheduleState({ state }: { state: ScheduleView["state"] }) {
  return (
    <StateBadge
      tone={SCHEDULE_TONES[state]}
      label={state}
      {...(state === "active" ? { icon: "play" as const } : {})}
    />
  );
}

/** The state of a batch: a failed member shows before it has finished. */
export function BatchState({ batch }: { batch: BatchView }) {
  const { state, failed, cancelled, cancelledAt } = batch;
  if (state === "finished") {
    const tone = failed > 0 ? "failed" : cancelled > 0 ? "cancelled" : "completed";
    return <StateBadge tone={tone} label="finished" />;
  }
  if (cancelledAt !== null) return <StateBadge tone="cancelled" label="cancelling" />;
  if (state === "open")
    return <StateBadge tone="ready" label="open" title="Members may be added until it is sealed" />;
  return <StateBadge tone="running" />;
}

const WORKER_TONES: Record<WorkerView["state"], Tone> = {
  live: "completed",
  silent: "failed",
  dispatcher: "ready",
};

/** The state of a worker: what it does counts, not what was asked of it. */
export function WorkerState({ worker }: { worker: WorkerView }) {
  const { state, activity } = worker;
  if (activity === "paused") return <StateBadge tone="paused" />;
  if (activity === "stopping") return <StateBadge tone="cancelled" label="stopping" />;
  return <StateBadge tone={WORKER_TONES[state]} label={state} />;
}

/** Whether a queue or job takes runs. */
export function PauseState({ paused, title }: { paused: boolean; title?: string }) {
  if (paused) return <StateBadge tone="paused" {...(title ? { title } : {})} />;
  return <StateBadge tone="ready" label="active" icon="play" />;
}
