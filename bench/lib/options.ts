import { parseArgs } from "node:util";

export interface Options {
  /** One short round of everything, without downloads. */
  quick: boolean;
  /** Names of subjects; all if empty. */
  only: string[];
  /** Ids of contests within the subjects; all if empty. */
  contest: string[];
  rounds: number | undefined;
  /** A file for the results. */
  json: string | undefined;
  /** Writes docs/performance.md and its charts. */
  write: boolean;
  /** Another checkout of Punctual, built, to measure beside this one. */
  beside: string | undefined;
}

export function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      contest: { type: "string", default: "" },
      rounds: { type: "string" },
      json: { type: "string" },
      write: { type: "boolean", default: false },
      beside: { type: "string" },
    },
  });
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0)) {
    throw new Error(`--rounds takes a positive integer, not ${values.rounds}.`);
  }
  return {
    quick: values.quick,
    only: values.only.split(",").filter(Boolean),
    contest: values.contest.split(",").filter(Boolean),
    rounds,
    json: values.json,
    write: values.write,
    beside: values.beside,
  };
}
