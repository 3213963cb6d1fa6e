// Error messages of the compiler: they must be about the mistake, not about overloads.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");

const PRELUDE = `import { Punctual } from "punctual";
const jobs = new Punctual("sqlite::memory:");
const email = jobs.define("email", async (args: { to: string }) => args.to);
const report = jobs.define("report", async (args: { day?: number }) => args.day);
const catalog = jobs.catalog({ email, report });
const producer = new Punctual<typeof catalog>("sqlite::memory:");
class Resize { static handle(args: { id: number }): void {} }
void [producer, Resize];
`;

/** The messages of one program for each mistake, by its number. */
function compile(mistakes: string[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), "punctual-messages-"));
  try {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
    for (const [index, mistake] of mistakes.entries())
      writeFileSync(join(folder, `${index}.mts`), `${PRELUDE}${mistake}\nexport {};\n`);
    const compilerOptions = {
      isolatedDeclarations: false,
      declaration: false,
      noUnusedParameters: false,
      paths: { punctual: [join(root, "src/index.ts")] },
    };
    const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["*.mts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = spawnSync(process.execPath, [tsc, "-p", folder, "--pretty", "false"], {
      encoding: "utf8",
    });
    const messages = mistakes.map(() => "");
    let current = -1;
    for (const line of stdout.split("\n")) {
      const found = /(\d+)\.mts\(\d+,\d+\): error TS\d+: (.*)/.exec(line);
      if (found) current = Number(found[1]);
      if (current >= 0) messages[current] += `${found ? found[2] : line}\n`;
    }
    return messages.map((message) => message.trim());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const MISSING = (count: string, given: number) => `Expected ${count} arguments, but got ${given}.`;
const WRONG = "Type 'number' is not assignable to type 'string'.";
const UNKNOWN_MEMBER =
  "Object literal may only specify known properties, and 'cc' does not exist in type '{ to: string; }'.";
const MISSPELT =
  "Object literal may only specify known properties, but 'dealy' does not exist in type 'DispatchOptions'. Did you mean to write 'delay'?";

const mistakes: [mistake: string, message: string | RegExp][] = [
  ["email.dispatch();", MISSING("1-2", 0)],
  ["email.dispatch({ to: 5 });", WRONG],
  ["email.dispatch({});", "Property 'to' is missing in type '{}' but required in type '{ to: string; }'."],
  ['email.dispatch({ to: "ada", cc: "bob" });', UNKNOWN_MEMBER],
  ['email.dispatch({ to: "ada" }, { dealy: 5 });', MISSPELT],
  ["email.delay(5).dispatch();", MISSING("1-2", 0)],
  ["email.dispatchMany([{ to: 5 }]);", WRONG],
  ['jobs.dispatch("email", {}, { dealy: 5 });', MISSPELT],
  ["jobs.dispatch(Resize);", MISSING("2-3", 1)],
  ['jobs.dispatch(Resize, { id: "x" });', "Type 'string' is not assignable to type 'number'."],
  [
    'producer.dispatch("emial", { to: "ada" });',
    /^Argument of type '"emial"' is not assignable to parameter of type '(?=.*"email")(?=.*"report").*'\.$/,
  ],
  ['producer.dispatch("email");', MISSING("2-3", 1)],
  ['producer.dispatch("email", { to: 5 });', WRONG],
  ['producer.dispatch("email", { to: "ada", cc: "bob" });', UNKNOWN_MEMBER],
  ['producer.dispatch("email", { to: "ada" }, { dealy: 5 });', MISSPELT],
  ['producer.delay(5).dispatch("email", { to: 5 });', WRONG],
  ['jobs.define("task");', MISSING("2", 1)],
  [
    'jobs.define("task", 5);',
    /Argument of type 'number' is not assignable to parameter of type 'Handler<unknown>'\.$/,
  ],
  [
    'jobs.define("task", () => {}).queue(5);',
    "Argument of type 'number' is not assignable to parameter of type 'string'.",
  ],
  [
    'jobs.define("task", () => {}).attempts({ tries: 3 });',
    "Object literal may only specify known properties, and 'tries' does not exist in type 'RetryOptions'.",
  ],
  [
    'new Punctual("sqlite::memory:", { defaults: { attemps: 3 } });',
    "Object literal may only specify known properties, but 'attemps' does not exist in type 'Defaults'. Did you mean to write 'attempts'?",
  ],
  ["email.onError((error: string) => error);", /Type 'Error' is not assignable to type 'string'\.$/],
];

test("the compiler names the mistake", () => {
  const said = compile(mistakes.map(([mistake]) => mistake));
  const table = mistakes.map(([mistake], index) => ({ mistake, said: said[index] }));
  expect(table).toEqual(
    mistakes.map(([mistake, message]) => ({
      mistake,
      said: typeof message === "string" ? message : expect.stringMatching(message),
    })),
  );
});
