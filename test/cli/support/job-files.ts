/** Jobs as a person would write them, on `./jobs.db`. */
export const DB = "sqlite:./jobs.db";

export const jobFiles: Record<string, string> = {
  "punctual.config.ts": `
import { defineConfig } from "punctual";
export default defineConfig({ database: "${DB}" });
`,
  "jobs/mail.ts": `
import { Job, PermanentError } from "punctual";
export const ok = Job.schedule("ok", (args: unknown) => { console.error("ok got", JSON.stringify(args)); return { done: true }; });
export const shaky = Job.schedule("shaky", () => { throw new Error("connect ETIMEDOUT"); })
  .retries({ max: 2, base: 3600, cap: 3600, jitter: "none" });
export const broken = Job.schedule("broken", () => { throw new PermanentError("no such customer"); });
export const slow = Job.schedule("slow", async (_: unknown, run) => {
  console.error("slow began");
  await new Promise((resolve) => run.signal.addEventListener("abort", resolve));
  throw run.signal.reason;
}).queue("slow");
`,
};
