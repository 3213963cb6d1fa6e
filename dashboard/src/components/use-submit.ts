import { type Signal, useSignal } from "@preact/signals";
import type { Problem } from "../../../src/dashboard/api/contract.ts";
import { toProblem } from "../api/client.ts";

export interface Submission {
  busy: boolean;
  /** Why the last request was refused; a form may also set it. */
  problem: Signal<Problem | null>;
  onSubmit(event: Event): Promise<void>;
}

/** Sends a form once at a time, and keeps the problem of a rejected request. `blocked`: nothing can be sent yet. */
export function useSubmit(act: () => Promise<unknown>, blocked = false): Submission {
  const busy = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const onSubmit = async (event: Event) => {
    event.preventDefault();
    if (busy.value || blocked) return;
    busy.value = true;
    problem.value = null;
    try {
      await act();
    } catch (error) {
      problem.value = toProblem(error);
    }
    busy.value = false;
  };
  return { busy: busy.value, problem, onSubmit };
}
