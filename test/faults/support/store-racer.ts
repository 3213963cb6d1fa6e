// Several clients in one process, each on connections of its own, that claim and settle as fast as they can. Arguments:
// URL, name, clients, milliseconds, "closed" or "open" gates, queues. What they see goes to standard output, a line for
// each run.
import type { ClaimedRun, Settlement, Store } from "../../../src/store/store.ts";
import { yieldToEventLoop } from "../../../src/time.ts";
import { type HeldRun, hold, startNext } from "../../conformance/support/chain-order.ts";
import { type Gates, openRacing } from "./open-racing.ts";

const [url, name, clients, ms, gates, ...queues] = process.argv.slice(2) as string[] as [
  string,
  string,
  string,
  string,
  string,
  ...string[],
];
const outcomes = ["completed", "completed", "retried", "snoozed", "released", "failed"] as const;

function settlement({ id, token }: ClaimedRun): Settlement {
  const outcome = outcomes[Math.floor(Math.random() * outcomes.length)]!;
  const keep = Math.random() < 0.5 ? 0 : null;
  return {
    id,
    token,
    outcome,
    duration: 1,
    delay: 0,
    error: null,
    fingerprint: null,
    result: null,
    keep,
    logged: 0,
  };
}

async function race(worker: string, store: Store, mine: string[] | null, end: number): Promise<void> {
  const held = new Map<number, HeldRun>();
  let seq = 0;
  while (performance.now() < end || held.size > 0) {
    const over = performance.now() >= end;
    const settle: Settlement[] = [];
    for (const { run, from } of held.values()) {
      if (from === null || (!over && Math.random() < 0.5)) continue;
      held.delete(run.id);
      const { id, lane, queue } = run;
      const seen = {
        run: id,
        name: run.name,
        lane,
        queue,
        from: `${from}`,
        to: `${process.hrtime.bigint()}`,
      };
      process.stdout.write(`${JSON.stringify(seen)}\n`);
      startNext(run, held);
      settle.push(settlement(run));
    }
    const limit = Math.floor(Math.random() * 6);
    const token = `${worker}-${++seq}`;
    const claim = {
      token,
      limit,
      start: limit,
      limited: limit,
      behind: () => Math.floor(Math.random() * 4),
      window: 64,
      queues: mine,
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
      claim: over ? null : claim,
    });
    hold(answer.claimed, held);
    if (answer.settled.includes(false)) throw new Error("a lease was lost, though nobody took it back");
    await yieldToEventLoop();
  }
}

const stores = await Promise.all(
  Array.from({ length: Number(clients) }, () => openRacing(url, gates as Gates)),
);
const end = performance.now() + Number(ms);
await Promise.all(
  stores.map(async (store, index) => {
    const id = `${name}-${index}`;
    const host = "host";
    await store.beat({
      id,
      host,
      pid: process.pid,
      parallel: 8,
      queues: null,
      exceptQueues: [],
      weights: null,
      schedules: true,
      startedAt: 0,
    });
    // The first looks at every queue, each of the others at one.
    const mine = index === 0 ? null : [queues[(index + Number(name.at(-1))) % queues.length]!];
    await race(id, store, mine, end);
    await store.close();
  }),
);
