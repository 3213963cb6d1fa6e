import type { Command } from "commander";
import type { StartedDashboard } from "../../../dashboard/index.ts";
import { allowWork } from "../../../job-file-loader.ts";
import { startProbe } from "../../../metrics/probe.ts";
import type { Punctual } from "../../../punctual.ts";
import { childIdentity } from "../../../supervisor/child-identity.ts";
import { toWeightedQueues } from "../../../worker/options.ts";
import type { Cli } from "../../cli.ts";
import { pageOf } from "../../render/page.ts";
import { header } from "./header.ts";
import { addWorkOptions, checkWorkOptions, type WorkOptions } from "./options.ts";
import { reportJson, reportLines } from "./report.ts";
import { begin, runWorkSession, type WorkPlan } from "./work-session.ts";

export default function work(command: Command, cli: Cli): void {
  addWorkOptions(command)
    .description("Run due jobs until stopped by SIGINT (Ctrl-C), SIGTERM or a limit below.")
    .action(async (options: WorkOptions) => {
      const { output } = cli;
      const plan = await planWork(cli, options);
      checkWorkOptions(plan);
      const jobs = await cli.load(options.keepGoing ? "keep-going" : "refuse");
      // A child process of this command: its supervisor prints the reports.
      if (childIdentity() !== null && plan.workers > 0) {
        await allowWork(() => begin(jobs, plan));
        return;
      }
      if (options.jsonl ?? (output.isJson || output.width === null)) reportJson(jobs, output);
      else reportLines(jobs, output, pageOf(cli));
      const probe = options.probePort ? await startProbe(jobs, options.probePort) : null;
      const dashboard = await serveDashboard(jobs, options);
      const { workers, parallel } = plan;
      const schedules = plan.schedule !== false;
      const serving = toWeightedQueues(plan.queues?.options ?? {});
      const facts = {
        workers,
        parallel,
        serving,
        schedules,
        probe: probe?.url ?? null,
        dashboard: dashboard?.signInUrl ?? null,
      };
      const lines = await header(cli, jobs, facts);
      // Printed after the signal handlers are installed: a program that reads the line may send a signal at once.
      jobs.on("worker.started", () => {
        for (const line of [...lines, ""]) output.note(line);
      });
      await runWorkSession(cli, jobs, plan).finally(() => Promise.all([probe?.stop(), dashboard?.stop()]));
    });
}

async function serveDashboard(jobs: Punctual, options: WorkOptions): Promise<StartedDashboard | null> {
  const { dashboard, dashboardPort: port } = options;
  if (!dashboard && port === undefined) return null;
  const { startDashboard } = await import("../../../dashboard/index.ts");
  return startDashboard(jobs, { port });
}

/** Options that need child processes imply at least one. */
async function planWork(cli: Cli, options: WorkOptions): Promise<WorkPlan> {
  const config = await cli.config();
  const workers = options.workers ?? config.workers ?? 0;
  const needsChild = options.watch === true || options.maxMemory !== undefined;
  return {
    ...options,
    workers: needsChild ? Math.max(1, workers) : workers,
    parallel: options.parallel ?? config.parallel ?? 10,
  };
}
