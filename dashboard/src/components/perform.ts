import { toProblem } from "../api/client.ts";
import { notify } from "./notices.tsx";

/** Awaits an action, shows its message or its problem, and calls `done` in both cases. */
export async function perform(sent: Promise<{ message: string }>, done: () => void): Promise<void> {
  try {
    notify((await sent).message);
  } catch (error) {
    notify(toProblem(error).detail, "problem");
  }
  done();
}
