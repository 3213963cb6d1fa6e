import { DAY, HOUR, MINUTE, SECOND } from "../../time.ts";

type Moment = Date | number;

/** A span in one unit, rounded down: `22s`, `58m`, `25h`, `12d`. */
export function span(ms: number): string {
  const size = Math.abs(ms);
  if (size < MINUTE) return `${Math.floor(size / SECOND)}s`;
  if (size < HOUR) return `${Math.floor(size / MINUTE)}m`;
  if (size < 2 * DAY) return `${Math.floor(size / HOUR)}h`;
  return `${Math.floor(size / DAY)}d`;
}

/** A duration in up to two units: `840ms`, `1.1s`, `1m12s`, `2h05m`, `3d04h`. */
export function duration(ms: number): string {
  const size = Math.max(0, ms);
  if (size < SECOND) return `${Math.round(size)}ms`;
  if (size < MINUTE) return `${(Math.floor(size / 100) / 10).toFixed(1)}s`;
  if (size < HOUR) return twoUnits(size, [MINUTE, "m"], [SECOND, "s"]);
  if (size < DAY) return twoUnits(size, [HOUR, "h"], [MINUTE, "m"]);
  return twoUnits(size, [DAY, "d"], [HOUR, "h"]);
}

type Unit = readonly [ms: number, name: string];

function twoUnits(ms: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = String(Math.floor((ms % large) / small)).padStart(2, "0");
  return `${Math.floor(ms / large)}${largeName}${rest}${smallName}`;
}

/** `22s ago`; `in 3s` if the time is ahead of `now`, because clocks differ. */
export function ago(at: Moment, now: Moment): string {
  const past = Number(now) - Number(at);
  if (past < -SECOND) return `in ${span(past)}`;
  return past < SECOND ? "now" : `${span(past)} ago`;
}

/** `in 38s`, or `4m overdue`. */
export function due(at: Moment, now: Moment): string {
  const left = Number(at) - Number(now);
  if (left > -SECOND) return left < SECOND ? "now" : `in ${span(left)}`;
  return `${span(left)} overdue`;
}

/** Remaining time: `0:15`, `1:02:40`. */
export function countdown(ms: number): string {
  const seconds = Math.ceil(Math.max(0, ms) / SECOND);
  const two = (n: number) => String(n).padStart(2, "0");
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function parts(at: Moment, zone: string): Record<string, string> {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      weekday: "short",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      timeZoneName: "longOffset",
    });
    formats.set(zone, format);
  }
  return Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
}

/** Offset of the zone at that time: `UTC` or `+01:00`. */
export function offset(at: Moment, zone: string): string {
  const name = (parts(at, zone).timeZoneName ?? "").replace("GMT", "");
  return name === "" || name === "+00:00" ? "UTC" : name;
}

/** `2026-11-15` */
export function day(at: Moment, zone: string): string {
  const { year, month, day } = parts(at, zone);
  return `${year}-${month}-${day}`;
}

/** `15:02:11` */
export function clock(at: Moment, zone: string): string {
  const { hour, minute, second } = parts(at, zone);
  return `${hour}:${minute}:${second}`;
}

/** `Mon` */
export function weekday(at: Moment, zone: string): string {
  return parts(at, zone).weekday ?? "";
}

/** `2026-11-15 15:02:11 UTC` */
export function stamp(at: Moment, zone: string): string {
  return `${day(at, zone)} ${clock(at, zone)} ${offset(at, zone)}`;
}

/** The first word of moment(): the time if today, the weekday within six days, otherwise the date. */
export function roughly(at: Moment, now: Moment, zone: string): string {
  return moment(at, now, zone).split(" ")[0]!;
}

/** The shortest clear form: the time if today, the weekday and time within six days, otherwise the date. */
export function moment(at: Moment, now: Moment, zone: string): string {
  const time = clock(at, zone);
  if (day(at, zone) === day(now, zone)) return time.replace(/:00$/, "");
  const isNear = Math.abs(Number(at) - Number(now)) < 6 * DAY;
  return isNear ? `${weekday(at, zone)} ${time.slice(0, 5)}` : day(at, zone);
}

/** `1,204,000` */
export function grouped(count: number): string {
  return count.toLocaleString("en-US");
}

/** `950`, `22k`, `1.2M` */
export function rough(count: number): string {
  if (count < 1000) return String(count < 10 ? Math.round(count * 10) / 10 : Math.round(count));
  const [size, unit] = count < 999_500 ? [count / 1000, "k"] : [count / 1_000_000, "M"];
  return `${size < 10 ? Math.round(size * 10) / 10 : Math.round(size)}${unit}`;
}

/** `1 run`, `2 runs`, `3 queries` */
export function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}
