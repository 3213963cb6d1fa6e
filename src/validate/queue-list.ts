import { formatValue, PunctualError } from "../errors.ts";

/** Queues that a worker serves, as parsed from text such as `emails,reports*2,!bulk`. */
export interface QueueList {
  queues?: string[];
  exceptQueues?: string[];
  weights?: Record<string, number>;
}

const ALL = "*";

/**
 * Parses a list of queues: `emails` is served, `reports*2` is served with a weight, `!bulk` is excluded. `*` means all
 * other queues; it is implied when the list only excludes queues.
 */
export function readQueues(text: string): QueueList {
  const words = text.split(",").map((word) => word.trim());
  const except = words.filter((word) => word.startsWith("!")).map((word) => readExcluded(word));
  const included = words
    .filter((word) => !word.startsWith("!") && word !== ALL)
    .map((word) => readWeighted(word));
  const isAll = words.includes(ALL) || included.length === 0;
  const weights = new Map<string, number>();
  for (const { name, weight } of included) {
    if (weight === null) continue;
    if ((weights.get(name) ?? weight) !== weight)
      throw refusal(
        `Expected one weight for the queue ${formatValue(name)}, got ${weights.get(name)} and ${weight}.`,
      );
    weights.set(name, weight);
  }
  return {
    ...(!isAll && { queues: included.map(({ name }) => name) }),
    ...(except.length > 0 && { exceptQueues: except }),
    ...(weights.size > 0 && { weights: Object.fromEntries(weights) }),
  };
}

/** Whether `readQueues()` reads a queue's name as that name alone, without `!`, `*` or a comma of its syntax. */
export function isPlainQueue(name: string): boolean {
  return !/^!|,|\*[-+.\d]*$|^\s|\s$/.test(name);
}

function readExcluded(word: string): string {
  const name = word.slice(1);
  if (!/\*[-+.\d]*$/.test(name)) return name;
  throw refusal(
    `An excluded queue has no weight: expected only a name after the "!", got ${formatValue(word)}.`,
  );
}

/** Reads `name*weight`. A `*` that is not followed by a number at the end belongs to the name. */
function readWeighted(word: string): { name: string; weight: number | null } {
  const [, name, number] = /^(.*)\*([-+.\d]*)$/s.exec(word) ?? [];
  if (name === undefined) return { name: word, weight: null };
  if (name === ALL)
    throw refusal(`Queues that are not named have weight 1: expected "*" alone, got ${formatValue(word)}.`);
  if (!/^\d+$/.test(number!))
    throw refusal(`Expected a weight after the "*", such as reports*2, got ${formatValue(word)}.`);
  return { name, weight: Number(number) };
}

function refusal(message: string): PunctualError {
  return new PunctualError("INVALID_OPTION", message);
}
