import type { Punctual } from "../../../punctual.ts";
import type { Cli } from "../../cli.ts";
import { confirm } from "../../input/ask.ts";
import { plain } from "../../output/output.ts";
import { counted } from "../../render/numbers.ts";
import type { Finding } from "./finding.ts";
import { messageOf } from "./setup.ts";

/** Asks, then applies the safe fixes; returns them as sentences, or null if there are none. */
export async function fix(cli: Cli, jobs: Punctual, findings: Finding[]): Promise<string[] | null> {
  const fixes = findings.flatMap((finding) => finding.fix ?? []).join(", ");
  if (fixes === "") return null;
  await confirm(cli, `${fixes[0]!.toUpperCase()}${fixes.slice(1)}?`);
  const complain = (what: string) => cli.output.complain(`punctual: ${plain(what)}`);
  try {
    const { installed, made, failed, reaped, workers } = await jobs.repair();
    for (const { name, message } of failed) complain(`${name} could not be created: ${message}`);
    const { from, to } = installed;
    return [
      ...(from === to ? [] : [`installed schema ${to}`]),
      ...made.map((name) => `created ${name}`),
      ...(reaped === 0 ? [] : [`reaped ${counted(reaped, "run")} of dead workers`]),
      ...(workers === 0 ? [] : [`deleted ${counted(workers, "row")} of dead workers`]),
    ];
  } catch (fault) {
    // The checks that follow report it again, with the fix.
    complain(messageOf(fault));
    return [];
  }
}
