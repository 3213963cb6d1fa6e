import { finishedStates, type RunState, stateCodes } from "../run/states.ts";
import type { RunAspect, RunCondition } from "../store/search.ts";
import type { Term, Value } from "./terms.ts";
import { invalid, unknown } from "./terms.ts";
import { isBare, plain, toDuration, toMoment, toNumber, toPart, toText } from "./values.ts";

export interface Moment {
  now: number;
  zone: string;
}

type Reader = (term: Term, moment: Moment) => RunCondition;

const STATES = Object.keys(stateCodes) as RunState[];

/** What people of other queues call them. */
const OTHER_STATES: Record<string, string> = {
  retrying: "is:retrying",
  late: "is:late",
  cancelling: "is:cancelling",
  waiting: "is:waiting",
  finished: "is:finished",
  succeeded: "completed",
  success: "completed",
  done: "completed",
  error: "failed",
  queued: "ready",
  pending: "ready",
  available: "ready",
  delayed: "scheduled",
  active: "running",
  executing: "running",
  discarded: "failed",
  canceled: "cancelled",
};

const OTHER_FIELDS: Record<string, string> = {
  name: "job",
  status: "state",
  args: "payload.…",
  arg: "payload.…",
  data: "payload.…",
  payload: "payload.…",
  type: "errortype",
  since: "after",
  until: "before",
  tags: "tag",
  attempts: "attempt",
  duration: "took",
  host: "worker",
};

function state({ values }: Term): RunCondition {
  return { field: "state", any: values.map((value) => toState(plain(value))) };
}

function toState(word: string): RunState {
  if (Object.hasOwn(stateCodes, word)) return word as RunState;
  throw unknown("state", word, STATES, OTHER_STATES[word.toLowerCase()]);
}

const STATES_THAT_ARE: Record<string, RunState[]> = {
  running: ["running"],
  waiting: ["scheduled", "ready"],
  finished: finishedStates,
};
const BEINGS: RunAspect[] = ["late", "retrying", "cancelling"];
const ARE = [...Object.keys(STATES_THAT_ARE), ...BEINGS];

function is({ values, source }: Term): RunCondition {
  const words = values.map(plain);
  for (const word of words) {
    if (ARE.includes(word)) continue;
    throw unknown(
      'word behind "is:"',
      word,
      ARE,
      Object.hasOwn(stateCodes, word) ? `state:${word}` : undefined,
    );
  }
  const states = words.flatMap((word) => STATES_THAT_ARE[word] ?? []);
  const beings = words.filter((word) => BEINGS.includes(word as RunAspect)) as RunAspect[];
  if (states.length === 0) return { field: "being", any: beings };
  if (beings.length === 0) return { field: "state", any: states };
  throw invalid(`"${source}" mixes states with what runs are beside them. Search for one after the other.`);
}

function text(field: "job" | "queue" | "key" | "batch" | "worker" | "errortype"): Reader {
  return ({ values }) => ({ field, any: values.map(toText) });
}

/** A list is looked into value by value: there is nothing to compare a pattern with. */
function tag({ values }: Term): RunCondition {
  return {
    field: "tag",
    any: values.map((value) => {
      const match = toText(value);
      if ("is" in match) return match;
      throw invalid(
        `Expected a whole tag behind "tag:", got "tag:${plain(value)}" with a star. A star in quotes is a star.`,
      );
    }),
  };
}

function number(field: "id" | "parent" | "attempt"): Reader {
  return ({ values }) => ({ field, any: values.map((value) => toNumber(field, value)) });
}

function duration(field: "took" | "waited"): Reader {
  return ({ values }) => ({ field, any: values.map((value) => toDuration(field, value)) });
}

function one(term: Term): Value {
  if (term.values.length === 1) return term.values[0]!;
  throw invalid(`"${term.field}:" takes one value, got ${term.values.length} in "${term.source}".`);
}

/** Each is a place or a name, and some databases have to be asked for both: every further one doubles the statement. */
const MOST_NUMBERS = 4;

function payload({ path, values }: Term): RunCondition {
  if (path.filter((step) => /^\d+$/.test(step)).length > MOST_NUMBERS) {
    throw invalid(`A path has at most ${MOST_NUMBERS} numbers, "payload.${path.join(".")}" has more.`);
  }
  for (const value of values) {
    if (!isBare(value) || !/^[<>]=?\d/.test(plain(value))) continue;
    throw invalid(
      `"payload.${path.join(".")}:" is compared as a text, got "${plain(value)}". In quotes it is one; only took, waited, attempt and ids compare.`,
    );
  }
  return { field: "payload", path, any: values.map(toText) };
}

/** Every word that may stand before a colon. A new one is a line here. */
export const FIELDS: Record<string, Reader> = {
  state,
  job: text("job"),
  queue: text("queue"),
  id: number("id"),
  error: ({ values }) => ({ field: "error", any: values.map(toPart) }),
  errortype: text("errortype"),
  tag,
  key: text("key"),
  batch: text("batch"),
  parent: number("parent"),
  worker: text("worker"),
  schedule: ({ values }) => ({
    field: "schedule",
    any: values.map((value) =>
      isBare(value) && /^\d{1,15}$/.test(plain(value)) ? { id: Number(plain(value)) } : toText(value),
    ),
  }),
  after: (term, moment) => ({ field: "at", from: toMoment("after", one(term), moment) }),
  before: (term, moment) => ({ field: "at", to: toMoment("before", one(term), moment) }),
  took: duration("took"),
  waited: duration("waited"),
  attempt: number("attempt"),
  is,
};

const KNOWN = [...Object.keys(FIELDS), "payload.…"];

export function readField(term: Term, moment: Moment): RunCondition {
  const field = term.field!;
  if (field === "payload" && term.path.length > 0) return payload(term);
  const read = Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined;
  if (read && term.path.length === 0) return read(term, moment);
  const word = [field, ...term.path].join(".");
  const meant = OTHER_FIELDS[field] ?? (term.path.length > 0 ? "payload.…" : undefined);
  const error = unknown("field", word, KNOWN, meant);
  throw invalid(
    `${error.message} To search for the text itself, put it in quotes: "${JSON.stringify(term.source).slice(1, -1)}".`,
  );
}
