import { visibleText } from "./visible.ts";

/** Returns the place of a stack frame as people know it: a path instead of a URL. */
export function shownPlace(place: string): string {
  return visibleText(place).replace(/^file:\/\//, "");
}

/** Returns a cron expression without its seconds if it ticks at second 0, as people write it. */
export function shownCron(cron: string): string {
  return cron.replace(/^0 (?=(?:\S+ ){4}\S+$)/, "");
}
