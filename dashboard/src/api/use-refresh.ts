import { useEffect } from "preact/hooks";
import { paused } from "../live/live.ts";
import type { Resource } from "./resource.ts";

/** Interval at which pages read facts that change without a change of the overview's version. */
export const REFRESH_EVERY = 2_000;

/** Reads a resource again every two seconds, while `active` and while nobody paused or hid the page. */
export function useRefresh(resource: Resource<unknown>, active: boolean): void {
  useEffect(() => {
    if (!active) return;
    const timer = setInterval(() => {
      if (!paused.peek() && !document.hidden) resource.refresh();
    }, REFRESH_EVERY);
    return () => clearInterval(timer);
  }, [active]);
}
