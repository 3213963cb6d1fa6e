// One of several processes that claim and settle as fast as they can. Arguments: URL, worker, milliseconds.
// What it sees goes to standard output, a line for each run: when it was surely its own, by the clock all processes
// share.
import { openStore } from "../../../src/store/open.ts";
import type { Settlement } from "../../../src/store/store.ts";
import { systemClock, yieldToEventLoop } from "../../../src/time.ts";
import { type HeldRun, hold, startNext } from "./chain-order.ts";

const [url, worker, ms] = process.argv.slice(2) as [string, string, string];
const store = await openStore(url, { clock: systemClock, prefix: "punctual_" });
await store.beat({
  id: worker,
  host: "host",
  pid: process.pid,
  parallel: 8,
  queues: null,
  exceptQueues: [],
  weights: null,
  schedules: true,
  startedAt: 0,
});

const outcomes = ["completed", "completed", "retried", "snoozed", "released", "failed"] as const;
const held = new Map<number, HeldRun>();
const end = Date.now() + Number(ms);
let seq = 0;

const tell = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

function finishSome(): Settlement[] {
  const settled: Settlement[] = [];
  for (const [id, { run, from }] of held) {
    if (from === null || (Date.now() < end && Math.random() < 0.5)) continue;
    held.delete(id);
    tell({
      run: id,
      name: run.name,
      lane: run.lane,
      queue: run.queue,
      from: String(from),
      to: String(process.hrtime.bigint()),
    });
    startNext(run, held);
    settled.push({
      id,
      token: run.token,
      outcome: outcomes[Math.floor(Math.random() * outcomes.length)]!,
      duration: 1,
      delay: 0,
      error: null,
      fingerprint: null,
      result: null,
      keep: Math.random() < 0.5 ? 0 : null,
      logged: 0,
    });
  }
  return settled;
}

while (Date.now() < end || held.size > 0) {
  const settle = finishSome();
  const token = `${worker}-${++seq}`;
  const limit = Math.floor(Math.random() * 6);
  const claim = {
    token,
    limit,
    start: limit,
    limited: limit,
    behind: () => Math.floor(Math.random() * 4),
    window: 64,
    queues: null,
    exceptQueues: [],
    stride: null,
    immediate: Math.random() < 0.5,
    exclude: [],
    computesKey: () => true,
    computesCost: () => true,
    owner: worker,
    lease: 60_000,
    crashed: 0,
    leases: {},
  };
  const answer = await store.exchange({
    worker,
    stream: 0,
    seq,
    again: false,
    settle,
    started: [],
    claim: Date.now() < end ? claim : null,
  });
  hold(answer.claimed, held);
  if (answer.settled.includes(false)) throw new Error("a lease was lost, though nobody took it back");
  await yieldToEventLoop();
}
await store.close();
