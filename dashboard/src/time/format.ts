const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A narrow no-break space, between a number and its unit. */
const THIN = "\u202f";

/** Returns a duration with two units at most: `12 ms`, `1.2 s`, `41 s`, `6 m 12 s`, `2 h 5 m`, `3 d`. */
export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < 1) return `0${THIN}ms`;
  if (ms < 999.5) return `${Math.round(ms)}${THIN}ms`;
  if (ms < 9_950) return `${trim((ms / SECOND).toFixed(1))}${THIN}s`;
  const seconds = Math.round(ms / SECOND);
  if (seconds < 60) return `${seconds}${THIN}s`;
  if (ms < HOUR - 500) return twoUnits(seconds, 60, "m", "s");
  const minutes = Math.round(ms / MINUTE);
  if (ms < DAY - MINUTE / 2) return twoUnits(minutes, 60, "h", "m");
  return twoUnits(Math.round(ms / HOUR), 24, "d", "h");
}

/** Returns a duration with one unit, rounded down, as an age is told: `41 s`, `6 m`, `2 h`, `3 d`. */
export function formatAge(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)}${THIN}s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)}${THIN}m`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)}${THIN}h`;
  return `${Math.floor(ms / DAY)}${THIN}d`;
}

/** Returns a time as seen from now: `now`, `2 m ago`, `in 41 s`. */
export function formatRelative(at: number, now: number): string {
  const distance = at - now;
  if (Math.abs(distance) < SECOND) return "now";
  return distance > 0 ? `in ${formatAge(distance + SECOND - 1)}` : `${formatAge(-distance)} ago`;
}

/** Returns a countdown: `00:38`, `04:12`, `1:04:12`, `3 d`; behind the time, `due`. */
export function formatCountdown(milliseconds: number): string {
  if (milliseconds <= 0) return "due";
  if (milliseconds >= DAY) return formatAge(milliseconds);
  const seconds = Math.ceil(milliseconds / SECOND);
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, "0"));
  const hours = Math.floor(seconds / 3600);
  return hours > 0 ? `${hours}:${parts.join(":")}` : parts.join(":");
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatIn(zone: string | undefined, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone} ${JSON.stringify(options)}`;
  let format = formats.get(key);
  if (!format) {
    // Swedish writes dates as ISO 8601 does, and a browser need not load its locale for the digits.
    format = new Intl.DateTimeFormat("sv-SE", {
      ...(zone ? { timeZone: zone } : {}),
      hourCycle: "h23",
      ...options,
    });
    formats.set(key, format);
  }
  return format;
}

/** Returns date and time with the name of the zone: `2026-11-15 14:02:11 Europe/Berlin`. No zone: the browser's. */
export function formatAbsolute(at: number, zone?: string): string {
  const options: Intl.DateTimeFormatOptions = {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  };
  return `${formatIn(zone, options).format(at)} ${zone ?? localZone()}`;
}

/** Returns the time of day: `14:02`, with seconds `14:02:11`. */
export function formatClock(
  at: number,
  zone?: string,
  { seconds = false }: { seconds?: boolean } = {},
): string {
  return formatIn(zone, {
    hour: "2-digit",
    minute: "2-digit",
    ...(seconds ? { second: "2-digit" } : {}),
  }).format(at);
}

/** Returns the day and time of day, as short as it is clear from now: `14:02`, `Mon 14:02`, `12 Nov 14:02`. */
export function formatShort(at: number, now: number, zone?: string): string {
  const day: Intl.DateTimeFormatOptions = { year: "numeric", month: "2-digit", day: "2-digit" };
  const clock = formatClock(at, zone);
  const format = formatIn(zone, day);
  if (format.format(at) === format.format(now)) return clock;
  const words = new Intl.DateTimeFormat("en-GB", {
    ...(zone ? { timeZone: zone } : {}),
    ...(Math.abs(at - now) < 6 * DAY ? { weekday: "short" } : { day: "numeric", month: "short" }),
  });
  return `${words.format(at)} ${clock}`;
}

/** Returns day and time of a tick: `Wed 18 Nov 00:00`, with the year far away, and with seconds that are not zero. */
export function formatTick(at: number, now: number, zone: string): string {
  const words = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    weekday: "short",
    day: "numeric",
    month: "short",
    ...(Math.abs(at - now) > 300 * DAY && { year: "numeric" }),
  });
  // British English writes "Wed, 18 Nov" in some versions of its locale data.
  return `${words.format(at).replace(",", "")} ${formatClock(at, zone, { seconds: at % MINUTE !== 0 })}`;
}

/** Returns the day: `Tue 17`. */
export function formatDay(at: number, zone?: string): string {
  const options: Intl.DateTimeFormatOptions = {
    weekday: "short",
    day: "numeric",
    ...(zone ? { timeZone: zone } : {}),
  };
  return new Intl.DateTimeFormat("en-GB", options).format(at);
}

export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function twoUnits(small: number, base: number, large: string, unit: string): string {
  const rest = small % base;
  const first = `${Math.floor(small / base)}${THIN}${large}`;
  return rest === 0 ? first : `${first} ${rest}${THIN}${unit}`;
}

function trim(decimal: string): string {
  return decimal.replace(/\.0$/, "");
}
