import { expect, test } from "vitest";
import { exitCodes } from "../../src/cli/output/exit-codes.ts";
import { onOwnServer } from "../faults/support/kinds.ts";
import { ReplicatedPair } from "../faults/support/replicated-pair.ts";
import { project, run } from "./support/punctual.ts";

onOwnServer(() => {
  test("doctor names the role of each host, and the host that does not answer", async () => {
    const pair = await ReplicatedPair.start({ synchronous: false });
    await pair.untilReplicated();
    const cwd = project();
    const doctor = async (url: string) => {
      const { code, stdout } = await run(["doctor", "--json", "--db", url], { cwd });
      const checks = JSON.parse(stdout).checks as { level: string; text: string; cure?: string }[];
      return { code, checks: checks.filter(({ text }) => /^host |read-only/.test(text)) };
    };
    const [standby, primary] = [pair.standby.port, pair.primary.port].map((port) => `127.0.0.1:${port}`);
    expect((await doctor(pair.url)).checks).toMatchObject([
      { level: "ok", text: `host ${standby} is read-only` },
      { level: "ok", text: `host ${primary} is the writer` },
    ]);
    const alone = await doctor(pair.standby.url);
    expect(alone.code).toBe(exitCodes.database);
    expect(alone.checks).toMatchObject([
      { level: "error", text: expect.stringContaining("DATABASE_READ_ONLY") },
    ]);
    await pair.primary.kill();
    await pair.promote();
    expect((await doctor(pair.url)).checks).toMatchObject([
      { level: "ok", text: `host ${standby} is the writer` },
      { level: "warning", text: expect.stringContaining(`host ${primary} does not answer (`) },
    ]);
  });
}, ["postgres"]);
