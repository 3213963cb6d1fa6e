import { DEFAULT_DATABASE } from "../../../database-choice.ts";
import { Punctual } from "../../../punctual.ts";
import { databaseLabel, missingFile } from "../../load/database.ts";
import { Output } from "../../output/output.ts";
import { Session } from "../../session.ts";

export interface Names {
  jobs: string[];
  queues: string[];
  /** Ids of schedules, with their jobs. */
  schedules: { id: number; job: string }[];
  /** Live workers, as `host:pid`. */
  workers: string[];
}

/** Returns the names in the database; null: the database does not exist. Loads no job file, creates no database. */
export async function namesIn(globals: Record<string, string>): Promise<Names | null> {
  const session = new Session(globals, new Output(process.stdout, process.stderr, globals));
  const { database, config } = await session.setup();
  const source = database?.source ?? DEFAULT_DATABASE;
  if (missingFile(databaseLabel(source)) !== null) return null;
  const prefix = config.prefix === undefined ? {} : { prefix: config.prefix };
  const jobs = new Punctual(source, { ...prefix, logger: false, install: false });
  const status = await jobs.status();
  const schedules = await jobs.schedules();
  const queues = [...status.queues.map(({ name }) => name), ...status.jobs.map(({ queue }) => queue)];
  return {
    jobs: status.jobs.map(({ name }) => name),
    queues: [...new Set(queues)].sort(),
    schedules: schedules.map(({ id, job }) => ({ id, job })),
    workers: status.workers.filter(({ parallel }) => parallel > 0).map(({ host, pid }) => `${host}:${pid}`),
  };
}
