import { finishedStates, type RunState, stateCodes } from "../run/states.ts";
import type { RunAspect, RunCondition } from "../store/search.ts";
import type { Term, Value } from "./terms.ts";
import { invalidQuery, unknownWord } from "./terms.ts";
import { isBare, plain, toDuration, toNumber, toPart, toText, toTime } from "./values.ts";

/** Time and zone in which the times of a query are read. */
export interface TimeContext {
  /** UTC milliseconds. */
  now: number;
  zone: string;
}

type FieldReader = (term: Term, context: TimeContext) => RunCondition;

const STATES = Object.keys(stateCodes) as RunState[];

/** Wrong values of `state:` with the word to suggest: words of `is:`, and names of states in other job queues. */
const OTHER_STATES: Record<string, string> = {
  retrying: "is:retrying",
  due: "is:due",
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

/** Field names that users of other tools try, with the field to suggest. */
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
  throw unknownWord("state", word, STATES, OTHER_STATES[word.toLowerCase()]);
}

/** Words behind `is:` that stand for states. */
const STATE_GROUPS: Record<string, RunState[]> = {
  running: ["running"],
  waiting: ["scheduled", "ready"],
  finished: finishedStates,
};
const ASPECTS: RunAspect[] = ["due", "late", "retrying", "cancelling"];
const IS_WORDS = [...Object.keys(STATE_GROUPS), ...ASPECTS];

function is({ values, source }: Term): RunCondition {
  const words = values.map(plain);
  for (const word of words) {
    if (IS_WORDS.includes(word)) continue;
    throw unknownWord(
      'word behind "is:"',
      word,
      IS_WORDS,
      Object.hasOwn(stateCodes, word) ? `state:${word}` : undefined,
    );
  }
  const states = words.flatMap((word) => STATE_GROUPS[word] ?? []);
  const aspects = words.filter((word) => ASPECTS.includes(word as RunAspect)) as RunAspect[];
  if (states.length === 0) return { field: "aspect", any: aspects };
  if (aspects.length === 0) return { field: "state", any: states };
  throw invalidQuery(
    `"${source}" mixes words for states (${Object.keys(STATE_GROUPS).join(", ")}) with other words (${ASPECTS.join(", ")}). Search for each kind separately.`,
  );
}

function text(
  field: "job" | "queue" | "key" | "batch" | "worker" | "errortype" | "fingerprint",
): FieldReader {
  return ({ values }) => ({ field, any: values.map(toText) });
}

/** Reads `tag:`. A pattern is refused: databases look up whole tags in the stored list. */
function tag({ values }: Term): RunCondition {
  return {
    field: "tag",
    any: values.map((value) => {
      const match = toText(value);
      if ("is" in match) return match;
      throw invalidQuery(
        `Expected a whole tag behind "tag:", got the pattern "tag:${plain(value)}". If the tag contains a star, put the tag in quotes.`,
      );
    }),
  };
}

function number(field: "id" | "parent" | "rerun" | "attempt"): FieldReader {
  return ({ values }) => ({ field, any: values.map((value) => toNumber(field, value)) });
}

function duration(field: "took" | "waited"): FieldReader {
  return ({ values }) => ({ field, any: values.map((value) => toDuration(field, value)) });
}

function onlyValue(term: Term): Value {
  if (term.values.length === 1) return term.values[0]!;
  throw invalidQuery(`"${term.field}:" takes one value, got ${term.values.length} in "${term.source}".`);
}

/**
 * Most numeric steps in a path. A number may be an array index or a key, and some databases need a condition for each:
 * every numeric step doubles the statement.
 */
const MOST_NUMBERS = 4;

function payload({ path, values }: Term): RunCondition {
  if (path.filter((step) => /^\d+$/.test(step)).length > MOST_NUMBERS) {
    throw invalidQuery(`A path has at most ${MOST_NUMBERS} numbers, "payload.${path.join(".")}" has more.`);
  }
  for (const value of values) {
    if (!isBare(value) || !/^[<>]=?\d/.test(plain(value))) continue;
    throw invalidQuery(
      `"payload.${path.join(".")}:" compares text only, got "${plain(value)}". To search for that text, put it in quotes. Only took, waited, attempt, id and parent take < and >.`,
    );
  }
  return { field: "payload", path, any: values.map(toText) };
}

/** Every field of the query language, except `payload.…`. */
export const FIELDS: Record<string, FieldReader> = {
  state,
  job: text("job"),
  queue: text("queue"),
  id: number("id"),
  error: ({ values }) => ({ field: "error", any: values.map(toPart) }),
  errortype: text("errortype"),
  fingerprint: text("fingerprint"),
  tag,
  key: text("key"),
  batch: text("batch"),
  parent: number("parent"),
  rerun: number("rerun"),
  worker: text("worker"),
  schedule: ({ values }) => ({
    field: "schedule",
    any: values.map((value) =>
      isBare(value) && /^\d{1,15}$/.test(plain(value)) ? { id: Number(plain(value)) } : toText(value),
    ),
  }),
  after: (term, context) => ({ field: "at", from: toTime("after", onlyValue(term), context) }),
  before: (term, context) => ({ field: "at", to: toTime("before", onlyValue(term), context) }),
  took: duration("took"),
  waited: duration("waited"),
  attempt: number("attempt"),
  is,
};

const KNOWN = [...Object.keys(FIELDS), "payload.…"];

/** Returns the condition of a term with a field. Throws INVALID_QUERY for an unknown field or an invalid value. */
export function readField(term: Term, context: TimeContext): RunCondition {
  const field = term.field!;
  if (field === "payload" && term.path.length > 0) return payload(term);
  const read = Object.hasOwn(FIELDS, field) ? FIELDS[field] : undefined;
  if (read && term.path.length === 0) return read(term, context);
  const word = [field, ...term.path].join(".");
  const meant = OTHER_FIELDS[field] ?? (term.path.length > 0 ? "payload.…" : undefined);
  const error = unknownWord("field", word, KNOWN, meant);
  throw invalidQuery(
    `${error.message} To search for the text itself, put it in quotes: "${JSON.stringify(term.source).slice(1, -1)}".`,
  );
}
