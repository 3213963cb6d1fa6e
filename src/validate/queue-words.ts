import { PunctualError, show } from "../errors.ts";

/** What `emails,reports*2,!bulk` says. */
export interface QueueWords {
  queues?: string[];
  exceptQueues?: string[];
  weights?: Record<string, number>;
}

const ALL = "*";

/**
 * `emails` is served, `reports*2` with a weight, `!bulk` left out; `*` stands for all that are not named, and goes without
 * saying where queues are only left out.
 */
export function readQueues(text: string): QueueWords {
  const words = text.split(",").map((word) => word.trim());
  const except = words.filter((word) => word.startsWith("!")).map((word) => leftOut(word));
  const served = words.filter((word) => !word.startsWith("!") && word !== ALL).map((word) => weighed(word));
  const isAll = words.includes(ALL) || served.length === 0;
  const weights = new Map<string, number>();
  for (const { name, weight } of served) {
    if (weight === null) continue;
    if ((weights.get(name) ?? weight) !== weight)
      throw refusal(
        `Expected one weight for the queue ${show(name)}, got ${weights.get(name)} and ${weight}.`,
      );
    weights.set(name, weight);
  }
  return {
    ...(!isAll && { queues: served.map(({ name }) => name) }),
    ...(except.length > 0 && { exceptQueues: except }),
    ...(weights.size > 0 && { weights: Object.fromEntries(weights) }),
  };
}

/** Whether a name stands for itself there. */
export function isPlainQueue(name: string): boolean {
  return !/^!|,|\*[-+.\d]*$|^\s|\s$/.test(name);
}

function leftOut(word: string): string {
  const name = word.slice(1);
  if (!/\*[-+.\d]*$/.test(name)) return name;
  throw refusal(
    `A queue that is left out has no weight: expected the name alone after the "!", got ${show(word)}.`,
  );
}

/** A `*` elsewhere than before a number at the end belongs to the name. */
function weighed(word: string): { name: string; weight: number | null } {
  const [, name, number] = /^(.*)\*([-+.\d]*)$/s.exec(word) ?? [];
  if (name === undefined) return { name: word, weight: null };
  if (name === ALL)
    throw refusal(`Queues that are not named weigh 1 each: expected "*" alone, got ${show(word)}.`);
  if (!/^\d+$/.test(number!))
    throw refusal(`Expected a weight after the "*", such as reports*2, got ${show(word)}.`);
  return { name, weight: Number(number) };
}

function refusal(message: string): PunctualError {
  return new PunctualError("INVALID_OPTION", message);
}
