import { PunctualError } from "../errors.ts";
import type { ScheduleParts } from "../schedule/schedule.ts";
import type { Window } from "../schedule/window.ts";
import { Definition, type DefinitionParts } from "./definition.ts";
import type { Home } from "./dispatchable.ts";
import type { DescribedOrder, QueueLimit, QueueOrders } from "./queue-orders.ts";
import type { Registry } from "./registry.ts";
import type { Settings } from "./settings.ts";

type Numbers = Pick<
  Settings,
  "queue" | "priority" | "lease" | "concurrency" | "perKey" | "rates" | "timeout" | "keep"
> & { retries: Pick<Settings["retries"], "max" | "base" | "cap" | "jitter"> };

interface DescribedSchedule {
  slot: string;
  parts: Omit<ScheduleParts, "windows"> & { windows: Window[] };
  /** The lane of the run that a tick makes: only the process that defines the job can compute a key from arguments. */
  lane: string;
}

/** The jobs of this process, as another process has to know them: plain data, small if the jobs are alike. */
export interface Description {
  settings: Numbers[];
  jobs: {
    name: string;
    formerly: string[];
    /** Its index in the list of settings. */
    settings: number;
    fingerprint: number;
    implicit: boolean;
    cron: string | null;
    schedules: DescribedSchedule[];
  }[];
  /** Names of the jobs that methods of known classes would be, and the index of their settings. */
  methods: { names: string[]; settings: number };
  queues: [name: string, limit: QueueLimit][];
  orders: DescribedOrder[];
  limits: [name: string, limit: QueueLimit][];
}

/** The jobs and queues that a process defines. */
interface OwnDefinitions {
  registry: Registry;
  queueLimits: ReadonlyMap<string, QueueLimit>;
  queueOrders: QueueOrders;
  namedLimits: ReadonlyMap<string, QueueLimit>;
}

export function describeJobs(
  { registry, queueLimits, queueOrders, namedLimits }: OwnDefinitions,
  defaults: Settings,
): Description {
  const settings: Numbers[] = [];
  const indexes = new Map<string, number>();
  const indexOf = (numbers: Numbers): number => {
    const text = JSON.stringify(numbers);
    const known = indexes.get(text) ?? settings.push(numbers) - 1;
    indexes.set(text, known);
    return known;
  };
  const jobs = registry.fromEach((definition) => ({
    name: definition.name,
    formerly: [...definition.formerNames],
    settings: indexOf(numbersOf(definition.settings)),
    fingerprint: definition.fingerprint(),
    implicit: definition.isImplicit,
    cron: definition.toCron(),
    schedules: definition.schedules().map(({ slot, parts }) => ({
      slot,
      parts: { ...parts, windows: [...parts.windows] },
      lane: definition.tickLane(slot, parts),
    })),
  }));
  const methods = { names: registry.methods(), settings: indexOf(numbersOf(defaults)) };
  const limits = [...namedLimits];
  return { settings, jobs, methods, queues: [...queueLimits], orders: queueOrders.describe(), limits };
}

function numbersOf(settings: Settings): Numbers {
  const { queue, priority, lease, concurrency, perKey, rates, timeout, keep } = settings;
  const { max, base, cap, jitter } = settings.retries;
  return {
    queue,
    priority,
    lease,
    concurrency,
    perKey,
    rates,
    timeout,
    keep,
    retries: { max, base, cap, jitter },
  };
}

/** The home of described jobs, which are never dispatched. */
const NOWHERE: Home = {
  send: () => {
    throw new PunctualError(
      "NO_HANDLER",
      "A job of another process cannot be dispatched by its description.",
    );
  },
  sendMany: () => NOWHERE.send(undefined as never, {}) as never,
  warn: () => {},
};

function partsElsewhere(name: string, settings: Settings): DefinitionParts {
  const handler = () => {
    throw new PunctualError("NO_HANDLER", `The handler of "${name}" is in another process.`);
  };
  return { name, handler, schema: null, settings, home: NOWHERE, callSite: null };
}

/** A job that another process defines, as it has described it: enough to claim, tick and settle by. */
class DescribedJob extends Definition<never> {
  readonly #described: Description["jobs"][number];

  constructor(described: Description["jobs"][number], settings: Settings) {
    super(partsElsewhere(described.name, settings));
    this.#described = described;
    this.formerNames = described.formerly;
    this.isImplicit = described.implicit;
  }

  override schedules(): { slot: string; parts: ScheduleParts }[] {
    return this.#described.schedules;
  }

  override tickLane(slot: string): string {
    return this.#described.schedules.find((one) => one.slot === slot)!.lane;
  }

  override toCron(): string | null {
    return this.#described.cron;
  }

  override fingerprint(): number {
    return this.#described.fingerprint;
  }
}

export function toDefinitions(description: Description, defaults: Settings): Definition<never>[] {
  const settings = description.settings.map((numbers) => toSettings(numbers, defaults));
  return description.jobs.map((job) => new DescribedJob(job, settings[job.settings]!));
}

/** The job that a method of a class would be in the process that described it. */
export function toMethod(
  name: string,
  { settings, methods }: Description,
  defaults: Settings,
): Definition<never> {
  const own = toSettings(settings[methods.settings]!, defaults);
  const definition = new Definition<never>(partsElsewhere(name, own));
  definition.isImplicit = true;
  return definition;
}

function toSettings(numbers: Numbers, defaults: Settings): Settings {
  return { ...defaults, ...numbers, keyOf: null, costOf: null };
}
