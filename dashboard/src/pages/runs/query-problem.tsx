import type { Problem } from "../../../../src/dashboard/api/contract.ts";
import { Icon } from "../../components/icon.tsx";
import { faultIn } from "../../query/fault.ts";

/** The error in a query, with the part that the message names underlined. */
export function QueryProblem({ q, problem }: { q: string; problem: Problem }) {
  const fault = faultIn(q, problem.detail);
  return (
    <div class="query-problem" role="alert">
      <Icon name="late" />
      <div>
        {fault && (
          <code class="query-echo">
            {q.slice(0, fault.start)}
            <mark>{q.slice(fault.start, fault.end)}</mark>
            {q.slice(fault.end)}
          </code>
        )}
        <p>{problem.detail}</p>
      </div>
    </div>
  );
}
