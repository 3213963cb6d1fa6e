import { expect, test } from "vitest";
import { project, run } from "./support/punctual.ts";

test.each<[string[], string]>([
  [["status", "--chek"], "Unknown option --chek. Did you mean --check? All options: punctual help status"],
  [["--foo"], "Unknown option --foo. All options: punctual help"],
  [["doctor", "--check=foo"], "--check takes no value: leave out =foo. All options: punctual help doctor"],
  [["status", "--json=yes"], "--json takes no value: leave out =yes. All options: punctual help status"],
  [["stauts"], "Unknown command stauts. Did you mean status? All commands: punctual help"],
  [["schedule", "lst"], "Unknown command lst. Did you mean list? All commands: punctual help schedule"],
  [["help", "nosuch"], "Unknown command nosuch. All commands: punctual help"],
  [
    ["show"],
    "Missing argument <run-or-job>, the id of a run, the name of a job, or batch:<id>. See: punctual help show",
  ],
  [
    ["schedule", "next"],
    'Missing argument <job|cron>, a job, the id of a schedule, or an expression such as "30 2 * * *". See: punctual help schedule next',
  ],
  [["dispatch", "ok", "--delay"], "Missing value of --delay <time>. See: punctual help dispatch"],
  [["doctor", "all", "now"], "doctor takes no arguments: leave out all now. See: punctual help doctor"],
  [["show", "1", "2"], "show takes one argument at most: leave out 2. See: punctual help show"],
  [
    ["dispatch", "ok", "--priority", "high"],
    'Invalid value "high" of --priority <n>. Expected a whole number of at least -2,147,483,648.',
  ],
  [
    ["list", "failure"],
    'Invalid value "failure" of <what>. Expected runs, jobs, queues, workers, failures, mutes, schedules, batches, rates, actions. Did you mean "failures"?',
  ],
  [["status", "--color=red"], 'Invalid value "red" of --color <when>. Expected always, never, auto.'],
  [["--jobs=", "doctor"], 'Invalid value "" of --jobs <glob>. Expected a file, a folder or a glob.'],
  [["--cwd=", "doctor"], 'Invalid value "" of --cwd <dir>. Expected a folder.'],
  [["--config=", "doctor"], 'Invalid value "" of -c, --config <file>. Expected a file.'],
])("%j is refused with a remedy", async (args, message) => {
  const { code, stdout, stderr } = await run(args, { cwd: project() });
  expect(stderr).toBe(`punctual: ${message}\n`);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
});

test("help of a command lists its options, also under an alias", async () => {
  const [work, migrate] = await Promise.all([run(["help", "work"]), run(["help", "migrate"])]);
  expect(work.stdout).toContain("--drain-timeout");
  expect(migrate.stdout).toContain("--schema");
  expect([work.code, migrate.code]).toEqual([0, 0]);
});
