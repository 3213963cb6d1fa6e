import type { ComponentChildren } from "preact";
import type { Problem } from "../../../src/dashboard/api/contract.ts";
import { Icon, type IconName } from "./icon.tsx";

/** A problem in one or two lines, beside what it concerns. */
export function ProblemText({ problem }: { problem: Problem }) {
  return (
    <p class="problem" role="alert">
      <Icon name="late" />
      <span>
        {problem.detail}
        {problem.hint && <span class="muted"> {problem.hint}</span>}
      </span>
    </p>
  );
}

interface EmptyProps {
  icon?: IconName;
  title: string;
  children?: ComponentChildren;
  /** Buttons or links to go on. */
  actions?: ComponentChildren;
}

/** Replaces a list that has nothing to show. */
export function Empty({ icon = "search", title, children, actions }: EmptyProps) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} size={22} />
      </span>
      <h2>{title}</h2>
      {children && <div class="empty-text">{children}</div>}
      {actions && <div class="row">{actions}</div>}
    </div>
  );
}

/** Replaces a page or list that could not be read. */
export function ProblemPage({ problem, actions }: { problem: Problem; actions?: ComponentChildren }) {
  return (
    <Empty icon="late" title={TITLES[problem.code] ?? problem.title} actions={actions}>
      <p role="alert">{problem.detail}</p>
      {problem.hint && <p class="muted">{problem.hint}</p>}
    </Empty>
  );
}

const TITLES: Record<string, string> = {
  HIDDEN_VALUE: "A hidden value",
  OFFLINE: "The server cannot be reached",
  NOT_INSTALLED: "Not installed in this database",
  QUERY_TIMED_OUT: "Too much data for this filter",
  DATABASE_UNAVAILABLE: "The database cannot be reached",
};
