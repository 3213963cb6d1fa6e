// One of several processes that claim runs under rates as fast as they can, until it is killed. Arguments: URL, worker.
// The time of each start is in the database.
import { openStore } from "../../../src/store/open.ts";
import { sleepReal, systemClock } from "../../../src/time.ts";
import { claimRequest, exchange, settlement } from "./requests.ts";

const [url, worker] = process.argv.slice(2) as [string, string];
const store = await openStore(url, { clock: systemClock, prefix: "punctual_" });
let settle: ReturnType<typeof settlement>[] = [];
for (let seq = 1; ; seq++) {
  const limit = 1 + Math.floor(Math.random() * 6);
  const claim = claimRequest({
    token: `${worker}-${seq}`,
    owner: worker,
    limit,
    behind: () => 2,
    immediate: seq % 2 > 0,
  });
  const answer = await exchange(store, { worker, seq, settle, claim });
  // History has the start of the handler, so the time of the claim is the result.
  settle = answer.claimed.map((run) => settlement(run, "completed", { result: String(run.claimedAt) }));
  if (settle.length === 0) await sleepReal(Math.random() * 8);
}
