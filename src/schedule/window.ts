import { formatValue, PunctualError } from "../errors.ts";
import { DAY_SECONDS } from "./civil.ts";
import { instantOf, type Zone } from "./zones.ts";

/** A part of every day, in seconds of the wall clock; both ends belong to it. `from` after `to`: it spans midnight. */
export interface Window {
  from: number;
  to: number;
  /** Whether the schedule ticks inside the window or outside of it. */
  inside: boolean;
}

export function toWindow(from: string, to: string, inside: boolean): Window {
  return { from: secondOfDay(from), to: secondOfDay(to), inside };
}

/** Parses a time of day such as `"8:00"`, `"08:00:30"` or `"8"`. */
export function secondOfDay(time: string): number {
  const match = /^(\d{1,2})(?::(\d{1,2}))?(?::(\d{1,2}))?$/.exec(typeof time === "string" ? time.trim() : "");
  const [hour, minute, second] = [match?.[1], match?.[2], match?.[3]].map((part) => Number(part ?? 0));
  if (!match || hour! > 23 || minute! > 59 || second! > 59) {
    throw new PunctualError(
      "INVALID_CRON",
      `Expected a time of day such as "13:00", hours from 0 to 23, got ${formatValue(time)}.`,
    );
  }
  return hour! * 3600 + minute! * 60 + second!;
}

/** Returns the nearest instant, at or after (or at or before) the given one, at which the window allows a tick. */
export function nearestOpen(window: Window, zone: Zone, ms: number, way: "ahead" | "back"): number {
  const second = Math.floor(ms / 1000);
  const wall = second + zone.at(second).offset;
  const time = timeOfDay(wall);
  const { from, to, inside } = window;
  const within = from <= to ? time >= from && time <= to : time >= from || time <= to;
  if (within === inside) return ms;
  const distance =
    way === "ahead"
      ? timeOfDay((inside ? from : to + 1) - time)
      : -timeOfDay(time - (inside ? to : from - 1));
  return instantOf(zone, (wall + distance) * 1000);
}

function timeOfDay(wall: number): number {
  return ((wall % DAY_SECONDS) + DAY_SECONDS) % DAY_SECONDS;
}
