import { checkName } from "../run/names.ts";
import { checkKeys } from "../run/options.ts";
import { encodePayload } from "../run/payload.ts";
import { type Passed, Plan } from "../schedule/plan.ts";

export interface RecurOptions {
  /** What its runs get. Default: what the job's `args()` holds when `recur()` is called. */
  args?: unknown;
  /** Default: the job's. */
  queue?: string;
  /** An IANA zone. Default: UTC. */
  timezone?: string;
}

/** One more schedule of a job, in the registrar's form. `own`: the job's arguments, for when the options give none. */
export function toRecurrence(
  cron: string,
  options: RecurOptions,
  own: unknown,
): { plan: Plan; passed: Passed } {
  checkKeys(options, ["args", "queue", "timezone"], "recur()");
  const plan = new Plan();
  plan.replace(cron);
  if (options.timezone !== undefined) plan.inZone(options.timezone);
  const queue = options.queue === undefined ? null : checkName(options.queue, "a queue name");
  return { plan, passed: { args: encodePayload(options.args ?? own) ?? null, queue } };
}
