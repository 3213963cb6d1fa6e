import { type ClockChange, clockChange } from "./changes.ts";
import { Cron } from "./cron.ts";
import { zoneOf } from "./zones.ts";

/** A tick with its local time in the zone of its schedule. */
export interface TickDetails {
  at: Date;
  /** `2027-03-28T03:00:00+02:00` */
  local: string;
  change: ClockChange | null;
  /** The effect of a clock change on the tick, in words. */
  note: string | null;
}

/** A source of ticks. `next` is set if the definition restricts the ticks of the cron expression. */
export interface TickSource {
  cron: string;
  timezone: string;
  next?: (after: number) => number | null;
}

/** Returns `count` ticks from an instant on, including a tick at that instant. */
export function ticksOf({ cron, timezone, next }: TickSource, from: number, count: number): TickDetails[] {
  const ticks = next
    ? upcoming(next, from - 1, count)
    : new Cron(cron, { timezone }).upcoming(count, from - 1);
  let offset = zoneOf(timezone).at(Math.floor(from / 1000)).offset;
  return ticks.map((at) => {
    const before = offset;
    offset = offsetAt(timezone, at);
    const change = clockChange(cron, timezone, at.getTime());
    const moved = offset !== before && change === null;
    return {
      at,
      local: `${iso(at, offset).slice(0, 19)}${offsetText(offset)}`,
      change,
      note: change ? changeNote(change, at, offset) : moved ? movedBy(before, offset) : null,
    };
  });
}

function upcoming(next: (after: number) => number | null, after: number, count: number): Date[] {
  const ticks: Date[] = [];
  for (let tick = next(after); tick !== null && ticks.length < count; tick = next(tick))
    ticks.push(new Date(tick));
  return ticks;
}

function offsetAt(timezone: string, at: Date): number {
  return zoneOf(timezone).at(Math.floor(at.getTime() / 1000)).offset;
}

function iso(at: Date, offset: number): string {
  return new Date(at.getTime() + offset * 1000).toISOString();
}

function offsetText(offset: number): string {
  const minutes = Math.trunc(Math.abs(offset) / 60);
  const two = (part: number) => String(part).padStart(2, "0");
  return `${offset < 0 ? "-" : "+"}${two(Math.trunc(minutes / 60))}:${two(minutes % 60)}`;
}

function changeNote(change: ClockChange, at: Date, offset: number): string {
  const here = clockText(at.getTime() / 1000 + offset);
  switch (change.kind) {
    case "skipped": {
      const times = change.times.map(clockText);
      const many = times.length > 1;
      return `${times.join(", ")} ${many ? "do" : "does"} not exist (clocks change): runs at ${here}, the first moment after ${many ? "them" : "it"}`;
    }
    case "repeated":
      return `${here} comes twice (clocks change): runs ${change.both ? "both times" : "the first time only"}`;
    case "again":
      return `${here} again (clocks change)`;
  }
}

function movedBy(before: number, after: number): string {
  const minutes = Math.abs(after - before) / 60;
  const size = minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.round(minutes)} min`;
  return `clocks went ${after > before ? "forward" : "back"} by ${size}`;
}

function clockText(civil: number): string {
  const text = new Date(civil * 1000).toISOString();
  return text.slice(11, text.slice(17, 19) === "00" ? 16 : 19);
}
