import type { Overview } from "../../../../src/dashboard/api/contract.ts";
import { CommandLine } from "../../components/copy-button.tsx";

const EXAMPLE = `import { Job } from "punctual";

export const welcome = Job.define("mail.welcome", async ({ to }: { to: string }) => {
  await sendMail(to);
});

await welcome.dispatch({ to: "ada@example.com" });`;

/** Whether nothing was ever defined, dispatched or run here. */
export function isUntouched({ queues, nextTicks, tiles }: Overview): boolean {
  return (
    queues.length === 0 && nextTicks.length === 0 && tiles.workers.live === 0 && tiles.running.runs === 0
  );
}

/** The overview of a new installation: how to make the first run. */
export function Welcome() {
  return (
    <section class="panel welcome" aria-label="First steps">
      <div class="stack">
        <h2>Nothing ran yet</h2>
        <p class="muted">
          Define a job, dispatch a run, and start a worker. This page fills as soon as one works.
        </p>
        <CommandLine command="punctual work" />
      </div>
      <pre>{EXAMPLE}</pre>
    </section>
  );
}
