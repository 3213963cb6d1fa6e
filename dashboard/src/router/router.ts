import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { base } from "../state/bootstrap.ts";
import { withBase, withoutBase } from "./path.ts";

interface Place {
  /** Path below the base, percent-encoded, such as `/jobs/a%2Fb`. */
  path: string;
  query: URLSearchParams;
}

function current(): Place {
  return { path: withoutBase(base, location.pathname) ?? "/", query: new URLSearchParams(location.search) };
}

let traversed = false;

/** Whether the user reached this page by the back or forward button. */
export function isTraversal(): boolean {
  return traversed;
}

const place: Signal<Place> = signal(current());

export const path: ReadonlySignal<string> = computed(() => place.value.path);
export const query: ReadonlySignal<URLSearchParams> = computed(() => place.value.query);

/** Address of a page, for `href`. */
export function href(to: string): string {
  return withBase(base, to);
}

/** Shows another page. `replace` adds no entry to the history. Scrolls to the top unless only the query changed. */
export function navigate(to: string, { replace = false } = {}): void {
  const before = place.value.path;
  traversed = false;
  history[replace ? "replaceState" : "pushState"](null, "", href(to));
  place.value = current();
  if (place.value.path === before) return;
  scrollTo(0, 0);
  // A screen reader starts to read at the heading of the new page.
  requestAnimationFrame(() => document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true }));
}

/** Changes parts of the query of this page; null and the empty text remove a part. */
export function setQuery(
  parts: Record<string, string | number | null>,
  options: { replace?: boolean } = {},
): void {
  const next = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(parts)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, String(value));
  }
  const search = next.toString().replace(/%3A/g, ":").replace(/%2C/g, ",");
  navigate(`${place.value.path}${search ? `?${search}` : ""}`, options);
}

addEventListener("popstate", () => {
  traversed = true;
  place.value = current();
});
