import { showPath } from "../errors.ts";
import type { Punctual } from "../punctual.ts";
import type { Cli } from "./cli.ts";
import { missingFile } from "./load/database.ts";
import { Exit, exitCodes } from "./output/exit-codes.ts";
import { plain } from "./output/output.ts";

/** Opens the instance for a command that must not create a database. Throws if the SQLite file does not exist. */
export async function openToLook(cli: Cli): Promise<Punctual> {
  const jobs = await cli.open();
  const file = missingFile(await cli.database());
  if (file === null) return jobs;
  throw new Exit(
    exitCodes.database,
    `There is no database ${showPath(plain(file))}. Name an existing one with --db, or create it: punctual install`,
  );
}
