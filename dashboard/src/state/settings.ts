import { effect, type Signal, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
/** Zone in which times are shown: of the browser, UTC, or of the schedule that a time belongs to. */
export type ZoneChoice = "local" | "utc" | "schedule";
export type Density = "comfortable" | "compact";

/** Settings of this browser. */
export interface Settings {
  theme: Theme;
  zone: ZoneChoice;
  pageSize: number;
  density: Density;
  /** Shortcuts of one letter, which people who use speech input switch off. */
  singleKeys: boolean;
  /** Columns of the list of runs, by their keys; null: the default ones. */
  runColumns: readonly string[] | null;
}

const KEY = "punctual.settings";
export const PAGE_SIZES = [25, 50, 100];
const DEFAULTS: Settings = {
  theme: "system",
  zone: "local",
  pageSize: 25,
  density: "comfortable",
  singleKeys: true,
  runColumns: null,
};

function load(): Settings {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Settings>) };
  } catch {
    // Storage is disabled, or holds something else: the defaults apply.
    return DEFAULTS;
  }
}

export const settings: Signal<Settings> = signal(load());

export function change(part: Partial<Settings>): void {
  settings.value = { ...settings.value, ...part };
  try {
    localStorage.setItem(KEY, JSON.stringify(settings.value));
  } catch {
    // The choice lasts until the page is closed.
  }
}

const NEXT_THEME: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const NEXT_ZONE: Record<ZoneChoice, ZoneChoice> = { local: "utc", utc: "schedule", schedule: "local" };

export const nextTheme = (): void => change({ theme: NEXT_THEME[settings.value.theme] });
export const nextZone = (): void => change({ zone: NEXT_ZONE[settings.value.zone] });

/** Writes theme and density to the root element, whose attributes choose the CSS variables. */
export function applySettings(): void {
  effect(() => {
    const { theme, density } = settings.value;
    document.documentElement.dataset.theme = theme;
    document.documentElement.dataset.density = density;
  });
  addEventListener("storage", ({ key }) => {
    if (key === KEY) settings.value = load();
  });
}
