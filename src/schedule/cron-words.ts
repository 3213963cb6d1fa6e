import { Cron } from "./cron.ts";

/** Describes a cron expression in words. Returns it unchanged if a later version wrote syntax unknown here. */
export function describeCron({ cron, timezone }: { cron: string; timezone: string }): string {
  try {
    return new Cron(cron, { timezone }).describe();
  } catch {
    return cron;
  }
}
