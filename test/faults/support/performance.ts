import { eventually } from "../../support/eventually.ts";
import type { Scene } from "./server-scene.ts";

/** Values that a session's settings could change in a statement, in a column, or in an answer. */
const TEXTS = [
  "plain",
  'it\'s "quoted", `ticked` and $$dollared$$',
  "back\\slash \\n \\' \\\\ at the end\\",
  "percent % _ ? $1 :name --comment /* */ ;",
  "ÄÖÜ ß İı ŸÿŁ 漢字 עברית",
  "😀 👩‍👩‍👧‍👦 \u{1F1E9}\u{1F1EA}",
  "line\nbreak\ttab\r\n\u0001",
  " spaces around ",
];

const KEYS = ["a", "A", "a ", "ä", "Ä", "ß", "a", "A"];

/** Performs a user's typical calls, and returns their results without ids and times. */
export async function perform(scene: Scene): Promise<object> {
  const jobs = scene.punctual();
  const errors: string[] = [];
  jobs.on("error", ({ error, during }) => errors.push(`${during}: ${error}`));
  let running = 0;
  let most = 0;
  const echo = jobs.schedule("echo ä 'x'", (args: { text: string }) => args).concurrency(0);
  const single = jobs
    .schedule("single", async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    })
    .concurrency(1);
  const twice = jobs
    .schedule("twice", (_: { text: string }, run) => {
      if (run.attempt === 1) throw new Error(`first try: ${TEXTS.join("")}`);
    })
    .retries({ max: 2, base: 0 });
  const fails = jobs.schedule("fails", () => {
    throw new Error(TEXTS.join(""));
  });
  const later = jobs.schedule("later", () => {});
  jobs.schedule("beat", () => {}).everySecond();

  await echo.dispatchMany(TEXTS.map((text) => ({ text })));
  for (const text of TEXTS) await jobs.dispatch("echo ä 'x'", { text }).tags(text);
  const keyed = [];
  for (const key of KEYS) keyed.push(await echo.dispatch({ text: key }).unique(key));
  for (let n = 0; n < 5; n++) await single.dispatch();
  await twice.dispatch({ text: TEXTS[3]! });
  await fails.dispatch();
  await later.dispatch().at("2031-02-03T04:05:06.789Z");

  void jobs.forever({ signals: false });
  const finished = async () =>
    (await scene.sql("select id from punctual_runs where name <> 'later'")).length === 0;
  await eventually("runs to finish", finished);
  const ticked = await eventually(
    "a tick",
    async () => (await scene.sql("select id from punctual_history where name = 'beat'")).length > 0,
  );
  await jobs.stop();

  const history = await scene.sql(
    `select name, queue, lane, limited, priority, state, args, attempts, crashes, error is not null as failed, result, tags,
            unique_key from punctual_history where name <> 'beat' order by id`,
  );
  const attempts = await scene.sql<{ error: string }>(
    "select error from punctual_attempts order by run_id, attempt",
  );
  const failed = await scene.sql("select name, queue, attempts, crashes, args from punctual_failed");
  const [pending] = await scene.sql<{ due: string }>(
    "select run_at as due from punctual_pending where name = 'later'",
  );
  return {
    errors,
    history,
    attempts: attempts.map(({ error }) => (JSON.parse(error) as { message: string }).message),
    failed,
    keys: new Set(keyed.map(({ id }) => id)).size,
    most,
    ticked,
    dueInView: pending!.due,
  };
}
