// One of several processes that claim runs under limits as fast as they can, until it is killed. Arguments: URL,
// worker, journal, lease. The database has the time of each start. The journal tells how long runs of the jobs
// "place a" and "place b" were certainly running.
import { openStore } from "../../../src/store/open.ts";
import type { Settlement } from "../../../src/store/store.ts";
import { sleepReal, systemClock } from "../../../src/time.ts";
import { noteIn } from "../../support/journal.ts";
import { cap, claimRequest, exchange, settlement } from "./requests.ts";

/** Part of the runs that hold places which an exchange settles. */
const SETTLED = 0.1;

const [url, worker, journal, lease] = process.argv.slice(2) as [string, string, string, string];
const note = noteIn(journal, worker);
const store = await openStore(url, { clock: systemClock, prefix: "punctual_" });
const places = new Set<number>();
let held: Settlement[] = [];
for (let seq = 1; ; seq++) {
  const claim = claimRequest({
    token: `${worker}-${seq}`,
    owner: worker,
    limit: 1 + Math.floor(Math.random() * 6),
    behind: () => 2,
    immediate: seq % 2 > 0,
    lease: Number(lease),
  });
  const isOver = ({ id }: Settlement) => !places.has(id) || Math.random() < SETTLED;
  const { settle = [], keep = [] } = Object.groupBy(held, (one) => (isOver(one) ? "settle" : "keep"));
  for (const { id } of settle) if (places.delete(id)) note("end", { run: id });
  note("claim");
  const { claimed } = await exchange(store, { worker, seq, settle, claim });
  for (const { id, name } of claimed) {
    if (!name.startsWith("place")) continue;
    places.add(id);
    note("start", { run: id });
  }
  // History has the start of the handler, so the time of the claim is the result.
  held = [...keep, ...claimed.map((run) => settlement(run, "completed", { result: String(run.claimedAt) }))];
  // Frees the places of killed racers. A run that crashed fails, so that each run starts once.
  if (seq % 20 === 0) await store.reap(100, cap(1), "crashed", null);
  if (claimed.length === 0) await sleepReal(Math.random() * 8);
}
