import fc from "fast-check";
import { type Outcome, outcomeRules } from "../../../src/run/states.ts";
import type { Rate } from "../../../src/store/rate.ts";

/** `which` counts backwards: among all runs, or among all leases, held or stale. */
export type Step =
  | { do: "insert"; name: string; key: string | null; queue: string; priority: number; delay: number }
  | {
      do: "claim";
      worker: string;
      limit: number;
      start: number;
      limited: number;
      behind: number;
      queues: string[] | null;
      exceptQueues: string[];
      lease: number;
    }
  | { do: "settle"; worker: string; which: number[]; outcome: Outcome; delay: number; kept: boolean }
  | { do: "renew"; which: number; lease: number }
  | { do: "start" | "cancel" | "revive" | "remove"; which: number }
  | { do: "advance"; ms: number }
  | { do: "reap"; limit: number }
  | { do: "move"; which: number; by: number }
  | { do: "pause job" | "pause queue"; name: string; paused: boolean };

export const LIMITS: Record<"jobLimits" | "keyLimits" | "queueLimits", Record<string, number>> = {
  jobLimits: { free: 0, small: 2, keyed: 3, rated: 0, "rated by key": 0 },
  keyLimits: { free: 0, small: 0, keyed: 1, rated: 0, "rated by key": 0 },
  queueLimits: { a: 0, b: 3 },
};

/** Rates of jobs, and of each key of a job. */
export const RATES: Record<"job" | "key", Record<string, Rate>> = {
  job: { rated: { limit: 3, per: 1000, burst: null } },
  key: { "rated by key": { limit: 1, per: 500, burst: null } },
};

const delay = fc.constantFrom(0, 0, 500, 1000, 3000);
const lease = fc.constantFrom(400, 1000, 60_000);
const which = fc.nat(6);
const worker = fc.constantFrom("w1", "w2");
/** Resumes more often than it pauses: a queue that is paused most of the time tests little. */
const paused = fc.constantFrom(true, false, false);

const of = <Kind extends Step["do"], Fields>(
  kind: Kind,
  fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
): fc.Arbitrary<{ do: Kind } & Fields> =>
  fc.record(fields).map((made) => ({ do: kind, ...made }) as { do: Kind } & Fields);

const claim: fc.Arbitrary<Step> = of("claim", {
  worker,
  limit: fc.integer({ min: 1, max: 8 }),
  start: fc.integer({ min: 0, max: 5 }),
  limited: fc.integer({ min: 0, max: 5 }),
  behind: fc.constantFrom(0, 1, 3),
  queues: fc.constantFrom<string[] | null>(null, null, ["a"], ["b", "a"]),
  exceptQueues: fc.constantFrom<string[]>([], [], [], ["a"]),
  lease,
});
const cancel: fc.Arbitrary<Step> = of("cancel", { which });
const advance: fc.Arbitrary<Step> = of("advance", { ms: fc.constantFrom(1, 400, 499, 500, 999, 1001) });
const reap: fc.Arbitrary<Step> = of("reap", { limit: fc.integer({ min: 1, max: 5 }) });

const single: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: of("insert", {
      name: fc.constantFrom(...Object.keys(LIMITS.jobLimits)),
      key: fc.constantFrom("x", "y", null),
      queue: fc.constantFrom("a", "b"),
      priority: fc.integer({ min: -1, max: 1 }),
      delay,
    }),
  },
  { weight: 5, arbitrary: claim },
  {
    weight: 5,
    arbitrary: of("settle", {
      worker,
      which: fc.array(which, { minLength: 1, maxLength: 3 }),
      outcome: fc.constantFrom(...(Object.keys(outcomeRules) as Outcome[])),
      delay,
      kept: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: of("renew", { which, lease }) },
  { weight: 1, arbitrary: of("start", { which }) },
  { weight: 3, arbitrary: advance },
  { weight: 2, arbitrary: reap },
  { weight: 1, arbitrary: cancel },
  { weight: 1, arbitrary: of("move", { which, by: fc.constantFrom(-500, 0, 700) }) },
  { weight: 1, arbitrary: of("revive", { which }) },
  { weight: 1, arbitrary: of("remove", { which }) },
  { weight: 1, arbitrary: of("pause job", { name: fc.constantFrom("small", "keyed"), paused }) },
  { weight: 1, arbitrary: of("pause queue", { name: fc.constantFrom("a", "b"), paused }) },
);

/** A worker that claims and dies: single random steps rarely do this twice to the same run. */
const death: fc.Arbitrary<Step[]> = fc
  .tuple(claim, fc.option(cancel), of("advance", { ms: fc.constant(1001) }), reap)
  .map((steps) =>
    steps
      .filter((step) => step !== null)
      .map((step) => (step.do === "claim" ? { ...step, lease: 1000 } : step)),
  );

export const steps: fc.Arbitrary<Step[]> = fc
  .array(fc.oneof({ weight: 8, arbitrary: single.map((step) => [step]) }, { weight: 1, arbitrary: death }), {
    minLength: 10,
    maxLength: 60,
    size: "max",
  })
  .map((groups) => groups.flat());
