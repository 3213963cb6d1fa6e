import { Punctual } from "../../../src/index.ts";

/** Dispatches and ends, without stopping the instance. */
const [database, behaviour] = process.argv.slice(2) as [string, string];
const jobs = new Punctual(`sqlite:${database}`);
const mail = jobs.schedule("mail", (_: { to: string }) => {}).concurrency(0);

process.on("unhandledRejection", (reason) => {
  console.error("unhandledRejection", reason);
  process.exitCode = 70;
});

switch (behaviour) {
  case "awaits":
    await mail.dispatch({ to: "a@example.org" });
    break;
  case "does not await":
    mail.dispatch({ to: "a@example.org" });
    break;
  case "is kept waiting":
    mail.dispatch({ to: "a@example.org" });
    // Does not keep the process alive: it shows that the dispatch does.
    setInterval(() => console.log("alive"), 20).unref();
    break;
  case "dispatches a function":
    await jobs.dispatch("mine", () => {});
    break;
  case "fails unheard":
    jobs.dispatch("no such job", { to: "a@example.org" });
    mail.dispatch({ to: "a@example.org" });
    break;
}
