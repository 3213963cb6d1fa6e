import type { NamedDatabase } from "../../database-choice.ts";
import type { Punctual } from "../../punctual.ts";
import { version } from "../../version.ts";
import { Exit, exitCodes } from "../output/exit-codes.ts";
import { databaseLabel, isSameDatabase } from "./database.ts";
import type { JobRecorder } from "./job-recorder.ts";

type Instance = JobRecorder["instances"][number];

/** Returns one instance for all job files. The other instances share its engine, so that one worker runs their jobs. */
export async function uniteInstances(
  recorder: JobRecorder,
  chosen: NamedDatabase | null,
  make: () => Punctual,
): Promise<Punctual> {
  if (recorder.instances.length === 0) make();
  const { instances } = recorder;
  checkCopies(instances);
  checkDatabases(instances, chosen);
  const worker = instances.find(({ source }) => source !== null) ?? instances[0]!;
  for (const other of instances) {
    if (other === worker || other.engine === worker.engine) continue;
    checkNames(worker, other, recorder.origins);
    const stopped = worker.engine.take(other.engine);
    other.become(worker.engine);
    await stopped;
  }
  return worker.instance as Punctual;
}

function checkCopies(instances: Instance[]): void {
  const ours = version();
  const strange = instances.find((one) => one.version !== ours);
  if (strange) {
    throw new Exit(
      exitCodes.refused,
      `${strange.file} uses punctual ${strange.version || "of an unknown version"} (${strange.copy}), this command is punctual ${ours}. Run the copy that your project has installed: npx punctual …`,
    );
  }
  const copies = [...new Map(instances.map((one) => [one.copy, one])).values()];
  if (copies.length < 2) return;
  const [first, second] = copies as [Instance, Instance];
  throw new Exit(
    exitCodes.notLoaded,
    `${first.file} and ${second.file} use two copies of punctual (${first.copy}, ${second.copy}). Keep only one copy: npm dedupe`,
  );
}

function checkDatabases(instances: Instance[], chosen: NamedDatabase | null): void {
  const explicit = instances.filter(({ source }) => source !== null);
  for (const { source, file } of explicit) {
    if (!chosen || isSameDatabase(chosen.source, source!)) continue;
    throw new Exit(
      exitCodes.notLoaded,
      `${chosen.by} names ${databaseLabel(chosen.source)}, but ${file} opens ${databaseLabel(source!)} itself. Leave out ${chosen.by}, or remove the database from new Punctual() there.`,
    );
  }
  const first = explicit[0];
  const other = explicit.find(({ source }) => !isSameDatabase(source!, first!.source!));
  if (first && other) {
    throw new Exit(
      exitCodes.notLoaded,
      `The job files open two databases: ${first.file} opens ${databaseLabel(first.source!)}, ${other.file} opens ${databaseLabel(other.source!)}. A command works on one database: select the files of one with --jobs.`,
    );
  }
  const prefixed = instances.find(({ prefix }) => prefix !== (first ?? instances[0]!).prefix);
  if (!prefixed) return;
  const { file, prefix } = first ?? instances[0]!;
  throw new Exit(
    exitCodes.notLoaded,
    `The job files use tables with two prefixes: ${file} uses "${prefix}", ${prefixed.file} uses "${prefixed.prefix}". Use the same prefix in both.`,
  );
}

function checkNames(worker: Instance, other: Instance, origins: ReadonlyMap<string, string>): void {
  for (const { name } of other.engine.registry.definitions()) {
    if (!worker.engine.registry.definition(name)) continue;
    throw new Exit(
      exitCodes.notLoaded,
      `Job "${name}" is defined twice: in ${origins.get(name) ?? worker.file}, and by the instance of ${other.file}. Give one of them another name. (DUPLICATE_JOB)`,
    );
  }
}
