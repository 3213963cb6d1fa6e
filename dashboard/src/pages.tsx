import type { FunctionComponent } from "preact";
import { BatchPage } from "./pages/batches/batch-page.tsx";
import { BatchesPage } from "./pages/batches/batches-page.tsx";
import { FailuresPage } from "./pages/failures/failures-page.tsx";
import { JobPage } from "./pages/jobs/job-page.tsx";
import { JobsPage } from "./pages/jobs/jobs-page.tsx";
import { OverviewPage } from "./pages/overview/overview-page.tsx";
import { QueuePage } from "./pages/queues/queue-page.tsx";
import { QueuesPage } from "./pages/queues/queues-page.tsx";
import { RunPage } from "./pages/run/run-page.tsx";
import { RunsPage } from "./pages/runs/runs-page.tsx";
import { SchedulePage } from "./pages/schedules/schedule-page.tsx";
import { SchedulesPage } from "./pages/schedules/schedules-page.tsx";
import { AuditPage } from "./pages/settings/audit-page.tsx";
import { SettingsPage } from "./pages/settings/settings-page.tsx";
import { WorkersPage } from "./pages/workers/workers-page.tsx";

/** A page of the top navigation, or one that only links lead to. */
export interface PageEntry {
  title: string;
  path: string;
  /** Second key of its shortcut, behind `g`. */
  key?: string;
  /** Whether the navigation shows it. */
  nav: boolean;
}

export const PAGES: readonly PageEntry[] = [
  { title: "Overview", path: "/", key: "o", nav: true },
  { title: "Runs", path: "/runs", key: "r", nav: true },
  { title: "Batches", path: "/batches", key: "b", nav: true },
  { title: "Schedules", path: "/schedules", key: "s", nav: true },
  { title: "Jobs", path: "/jobs", key: "j", nav: true },
  { title: "Queues", path: "/queues", key: "q", nav: true },
  { title: "Failures", path: "/failures", key: "f", nav: true },
  { title: "Workers", path: "/workers", key: "w", nav: true },
  { title: "Audit", path: "/audit", nav: false },
  { title: "Settings", path: "/settings", nav: false },
];

/** Names of the `:name` segments of a pattern. */
type Params<Pattern extends string> = Pattern extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Tail}`
    ? Name | Params<Tail>
    : Rest
  : never;

interface RouteEntry {
  pattern: string;
  page: FunctionComponent<Record<string, string>>;
}

/** A component whose props are the values of the `:name` segments of its pattern, decoded. */
function route<Pattern extends string>(
  pattern: Pattern,
  page: FunctionComponent<Record<Params<Pattern>, string>>,
): RouteEntry {
  return { pattern, page: page as RouteEntry["page"] };
}

export const ROUTES: readonly RouteEntry[] = [
  route("/", OverviewPage),
  route("/runs", RunsPage),
  route("/runs/:id", RunPage),
  route("/batches", BatchesPage),
  route("/batches/:id", BatchPage),
  route("/schedules", SchedulesPage),
  route("/schedules/:id", SchedulePage),
  route("/jobs", JobsPage),
  route("/jobs/:name", JobPage),
  route("/queues", QueuesPage),
  route("/queues/:name", QueuePage),
  route("/failures", FailuresPage),
  route("/workers", WorkersPage),
  route("/settings", SettingsPage),
  route("/audit", AuditPage),
];
