import type { DispatchResult } from "../../../src/dashboard/api/contract.ts";
import { notify } from "../components/notices.tsx";
import { pathTo } from "../router/path.ts";
import { navigate } from "../router/router.ts";

/** Text that the server writes in place of a secret. */
export const HIDDEN = "[hidden]";

/** Reports a dispatch, and opens the page of its run. */
export function openDispatched({ id, created }: DispatchResult): void {
  notify(created ? `Run ${id} was dispatched.` : `Run ${id} has the same unique key: no run was dispatched.`);
  navigate(pathTo("/runs/:id", { id }));
}
