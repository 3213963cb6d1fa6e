import type { TickDetails } from "../../../schedule/next-ticks.ts";

/** Lines of one width, such as `Sun 2027-03-28 03:00 +02:00   01:00 UTC   …`. */
export function tickLines(ticks: TickDetails[], timezone: string): string[] {
  const seconds = ticks.some(({ at }) => at.getUTCSeconds() !== 0);
  const clock = (text: string) => text.slice(11, seconds ? 19 : 16);
  const showsUtc = ticks.some(({ local }) => !local.endsWith("+00:00")) || timezone !== "UTC";
  const days = ticks.some(({ at, local }) => at.toISOString().slice(0, 10) !== local.slice(0, 10));
  return ticks.map(({ at, local, note }) => {
    const utc = at.toISOString();
    const day = new Intl.DateTimeFormat("en", { weekday: "short", timeZone: "UTC" });
    return [
      `${day.format(new Date(`${local.slice(0, 10)}T00:00:00Z`))} ${local.slice(0, 10)} ${clock(local)} ${local.slice(19)}`,
      ...(showsUtc ? [`${days ? `${utc.slice(0, 10)} ` : ""}${clock(utc)} UTC`] : []),
      ...(note === null ? [] : [note]),
    ].join("   ");
  });
}
