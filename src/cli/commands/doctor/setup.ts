import type { Sources } from "../../cli.ts";
import type { Globals } from "../../input/options.ts";
import { databaseLabel } from "../../load/database.ts";
import { DEFAULT_JOBS } from "../../load/find-files.ts";
import { exitCodes } from "../../output/exit-codes.ts";
import { counted } from "../../render/formats.ts";
import { error, type Finding, ok, warning } from "../../views/finding.ts";

/** The oldest version that `engines` of package.json allows. On an older Node the command exits earlier. */
const OLDEST_NODE = "22.18";

/** Checks Node, the config and the job files. */
export async function setUp(sources: Sources | undefined, globals: Globals): Promise<Finding[]> {
  const findings = [ok(`node ${process.versions.node} (at least ${OLDEST_NODE})`)];
  if (!sources) return findings;
  try {
    const { file, config, database } = await sources.setup();
    const from = (key: keyof typeof config, flag?: unknown) =>
      flag !== undefined ? "the command line" : config[key] !== undefined ? String(file) : "the default";
    const details = [
      `database  ${database ? `${databaseLabel(database.source)}  (${database.by})` : "from the job files, otherwise sqlite ./punctual.db"}`,
      `jobs  ${(globals.jobs ?? [config.jobs ?? DEFAULT_JOBS].flat()).join(", ")}  (${from("jobs", globals.jobs)})`,
      `prefix  ${config.prefix ?? "punctual_"}  (${from("prefix")})`,
      `workers  ${config.workers ?? 0}  (${from("workers")})`,
      `parallel  ${config.parallel ?? 10}  (${from("parallel")})`,
    ];
    findings.push(ok(file === null ? "no config file: the defaults apply" : `config ${file}`, details));
  } catch (fault) {
    findings.push(error(messageOf(fault), undefined, exitCodes.notLoaded));
    return findings;
  }
  return [...findings, ...(await files(sources))];
}

async function files(sources: Sources): Promise<Finding[]> {
  try {
    const { files: found, problems, jobs, unmatched } = await sources.loadJobFiles();
    const findings = problems.map((problem) => error(problem, undefined, exitCodes.notLoaded));
    const count = jobs.definitions().length;
    if (count === 0 && problems.length === 0) {
      const where =
        unmatched.length > 0 ? `no file matches ${unmatched.join(", ")}` : "the files define none";
      return [warning(`no jobs: ${where}`, "punctual init, or --jobs <glob>")];
    }
    const loaded = `${counted(count, "job")} of ${counted(found.length, "file")}`;
    return [ok(`${loaded}, ${problems.length} with errors`, found), ...findings];
  } catch (fault) {
    // For example two jobs with one name, or two databases.
    return [error(messageOf(fault), undefined, exitCodes.notLoaded)];
  }
}

export function messageOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault);
}
