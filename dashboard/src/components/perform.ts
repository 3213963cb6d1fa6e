import { toProblem } from "../api/client.ts";
import { copyText } from "./copy.ts";
import { notify } from "./notices.tsx";

/**
 * Awaits an action, shows its message with the command line that does the same, or its problem, and calls `done` in
 * both cases.
 */
export async function perform(
  sent: Promise<{ message: string }>,
  done: () => void,
  command: string,
): Promise<void> {
  try {
    notify((await sent).message, "done", { label: `Copy: ${command}`, act: () => copyText(command) });
  } catch (error) {
    notify(toProblem(error).detail, "problem");
  }
  done();
}
