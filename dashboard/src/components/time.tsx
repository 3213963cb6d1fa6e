import { useComputed } from "@preact/signals";
import { settings } from "../state/settings.ts";
import { now } from "../time/clock.ts";
import {
  formatAbsolute,
  formatAge,
  formatCountdown,
  formatDuration,
  formatRelative,
  formatShort,
} from "../time/format.ts";

/** The zone in which a time is shown. `zone` is that of the schedule the time belongs to. */
export function shownZone(zone?: string | null): string | undefined {
  const choice = settings.value.zone;
  if (choice === "utc") return "UTC";
  return choice === "schedule" && zone ? zone : undefined;
}

interface TimeProps {
  /** ISO 8601; null shows a dash. */
  at: string | null;
  /** Zone of the schedule that the time belongs to. */
  zone?: string | null;
  /** `relative`: "2 m ago". `short`: "14:02". `absolute`: date, time and zone. `countdown`: "04:12". `age`: "41 s". */
  as?: "relative" | "short" | "absolute" | "countdown" | "age";
}

/** A time that stays right while the page is open, with the absolute time as its title. */
export function Time({ at, zone = null, as = "relative" }: TimeProps) {
  const text = useComputed(() => (at === null ? "—" : textOf(Date.parse(at), as, shownZone(zone))));
  if (at === null) return <span class="muted none">—</span>;
  return (
    <time dateTime={at} title={formatAbsolute(Date.parse(at), shownZone(zone))}>
      {text}
    </time>
  );
}

function textOf(at: number, as: NonNullable<TimeProps["as"]>, zone: string | undefined): string {
  switch (as) {
    case "relative":
      return formatRelative(at, now.value);
    case "short":
      return formatShort(at, now.value, zone);
    case "absolute":
      return formatAbsolute(at, zone);
    case "countdown":
      return formatCountdown(at - now.value);
    case "age":
      return formatAge(now.value - at);
  }
}

/** A duration in milliseconds; null shows a dash. */
export function Duration({ ms }: { ms: number | null }) {
  return ms === null ? <span class="muted none">—</span> : <span>{formatDuration(ms)}</span>;
}

/** A duration that grows: from `since` until now. */
export function Elapsed({ since }: { since: string }) {
  const text = useComputed(() => {
    const seconds = Math.floor((now.value - Date.parse(since)) / 1000);
    return seconds < 1 ? "0 s" : formatDuration(seconds * 1000);
  });
  return <span>{text}</span>;
}
