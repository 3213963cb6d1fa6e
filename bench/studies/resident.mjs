// One process of definitions.ts: prints its memory, with the given number of definitions or with none.
// JavaScript, because Node needs memory of its own to strip types.
const [built, database, given, ...zones] = process.argv.slice(2);
const count = Number(given);
const samples = { syncJobs: [], tick: [] };

if (built) await work();
else await new Promise((resolve) => setTimeout(resolve, 500));
const resident = process.memoryUsage.rss() / 2 ** 20;
process.stdout.write(JSON.stringify({ resident, ...samples }), () => process.exit());

async function work() {
  const { Punctual } = await import(`${built}/index.js`);
  const { SqliteStore } = await import(`${built}/store/sqlite/store.js`);
  for (const method of ["syncJobs", "tick"]) {
    const original = SqliteStore.prototype[method];
    SqliteStore.prototype[method] = async function (request) {
      const since = performance.now();
      const answer = await original.call(this, request);
      samples[method].push(performance.now() - since);
      return answer;
    };
  }
  const jobs = new Punctual(`sqlite:${database}`, { logger: false });
  const crons = [
    (i) => `${i % 60} ${i % 24} * * *`,
    (i) => `${i % 60} ${i % 59} ${i % 24} * * MON-FRI`,
    (i) => `*/${(i % 30) + 1} ${i % 24} * * *`,
    (i) => `${i % 60} ${i % 24} ${(i % 28) + 1} * *`,
  ];
  for (let i = 0; i < count; i++) {
    const job = jobs.schedule(`job ${i}`, () => {}).cron(crons[i % crons.length](i));
    if (zones.length > 0) job.timezone(zones[i % zones.length]);
  }
  jobs.schedule("beat", () => {}).everySecond();
  jobs.forever({ signals: false });
  let ticks = 0;
  await new Promise((resolve) => {
    jobs.on("schedule.ticked", ({ job }) => {
      if (job === "beat" && ++ticks === 4) resolve();
    });
  });
}
