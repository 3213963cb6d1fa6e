import { type Signal, signal } from "@preact/signals";
import { base } from "./bootstrap.ts";

/** A query of the list of runs that the user has named. */
export interface SavedFilter {
  name: string;
  q: string;
}

/** Filters name jobs and queues, so that each dashboard of an origin has its own. */
const KEY = `punctual.filters ${base}`;
/** Most filters that are kept; more would not fit above the list. */
export const MOST_FILTERS = 20;

function load(): SavedFilter[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter(isFilter).slice(0, MOST_FILTERS) : [];
  } catch {
    // Storage is disabled, or holds something else.
    return [];
  }
}

function isFilter(value: unknown): value is SavedFilter {
  const { name, q } = (value ?? {}) as Partial<SavedFilter>;
  return typeof name === "string" && typeof q === "string";
}

/** The filters of this browser, by name. */
export const savedFilters: Signal<readonly SavedFilter[]> = signal(load());

function store(filters: readonly SavedFilter[]): void {
  savedFilters.value = filters;
  try {
    localStorage.setItem(KEY, JSON.stringify(filters));
  } catch {
    // They last until the page is closed.
  }
}

/** Saves a filter, in place of one with the same name. */
export function saveFilter({ name, q }: SavedFilter): void {
  const others = savedFilters.value.filter((filter) => filter.name !== name);
  store([...others, { name, q }].toSorted((a, b) => a.name.localeCompare(b.name)));
}

export function removeFilter(name: string): void {
  store(savedFilters.value.filter((filter) => filter.name !== name));
}

addEventListener("storage", ({ key }) => {
  if (key === KEY) savedFilters.value = load();
});
