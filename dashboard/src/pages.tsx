import type { FunctionComponent } from "preact";
import { OverviewPage } from "./pages/overview/overview-page.tsx";
import { RunsPage } from "./pages/runs/runs-page.tsx";

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
  { title: "Schedules", path: "/schedules", key: "s", nav: true },
  { title: "Jobs", path: "/jobs", key: "j", nav: true },
  { title: "Queues", path: "/queues", key: "q", nav: true },
  { title: "Failures", path: "/failures", key: "f", nav: true },
  { title: "Workers", path: "/workers", key: "w", nav: true },
  { title: "Audit", path: "/audit", nav: false },
  { title: "Settings", path: "/settings", nav: false },
];

/** Components by pattern. The values of the `:name` segments are props of the component, decoded. */
export const ROUTES: readonly { pattern: string; page: FunctionComponent<Record<string, string>> }[] = [
  { pattern: "/", page: OverviewPage },
  { pattern: "/runs", page: RunsPage },
];
