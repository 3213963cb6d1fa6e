import type { Plan } from "../schedule/plan.ts";
import type { Misfire } from "../schedule/schedule.ts";
import { toWindow } from "../schedule/window.ts";
import type { Instant } from "../time.ts";
import { checkedInstant, type MisfireOptions, toEnvironments, toMisfire } from "./recurrence.ts";

/** The settings of a job's schedule, beside its frequencies. Each changes `plan` and nothing else. */
export abstract class Schedulable {
  abstract readonly plan: Plan;

  /** A cron expression of five fields, or of six with seconds first. */
  cron(expression: string): this {
    this.plan.replace(expression);
    return this;
  }

  /** The IANA zone of its schedule. Default: UTC. */
  timezone(zone: string): this {
    this.plan.inZone(zone);
    return this;
  }

  /** Ticks only from one time of day to another, both included, in its zone; the span may include midnight. */
  between(from: string, to: string): this {
    this.plan.bind({ windows: [...this.plan.bounds.windows, toWindow(from, to, true)] });
    return this;
  }

  /** Does not tick from one time of day to another, both included. */
  unlessBetween(from: string, to: string): this {
    this.plan.bind({ windows: [...this.plan.bounds.windows, toWindow(from, to, false)] });
    return this;
  }

  /** No tick before this instant. */
  startingAt(instant: Instant): this {
    this.plan.bind({ start: checkedInstant(instant) });
    return this;
  }

  /** No tick after this instant. */
  endingAt(instant: Instant): this {
    this.plan.bind({ end: checkedInstant(instant) });
    return this;
  }

  /**
   * How ticks are handled that were missed while no worker ran: `once` (the default) runs the latest, `skip` none,
   * `all` the latest `limit` (100). Ticks that were missed by more than `within` create no run.
   */
  misfire(policy: Misfire["policy"], options: MisfireOptions = {}): this {
    this.plan.bind({ misfire: toMisfire(policy, options) });
    return this;
  }

  /** Ticks only where `PUNCTUAL_ENV`, else `NODE_ENV`, is one of these. Dispatched runs are not affected. */
  environments(...names: string[]): this {
    this.plan.bind({ environments: toEnvironments(names) });
    return this;
  }
}
