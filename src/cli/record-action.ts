import { hostname, userInfo } from "node:os";
import type { Punctual } from "../punctual.ts";
import type { JsonValue } from "../run/payload.ts";
import type { Cli } from "./cli.ts";
import { plain } from "./output/output.ts";

/** The user of this process, as `name@host`. */
export function operatorName(): string {
  try {
    return `${userInfo().username}@${hostname()}`.slice(0, 100);
  } catch {
    return hostname().slice(0, 100);
  }
}

/** Records a command in the audit trail. An error is printed, and does not fail the command: it has done its work. */
export async function recordAction(
  cli: Cli,
  jobs: Punctual,
  { action, target, details }: { action: string; target: string; details?: JsonValue },
): Promise<void> {
  try {
    await jobs.recordAction({ action, target, details, user: operatorName(), source: "cli" });
  } catch (error) {
    cli.output.complain(`punctual: the action was not recorded: ${plain((error as Error).message)}`);
  }
}
