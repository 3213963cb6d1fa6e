import { test } from "vitest";
import { finishedWithin, runBatches } from "./support/batch-fleet.ts";
import { behindProxy } from "./support/behind-proxy.ts";
import { commitOf } from "./support/commits.ts";
import { onEachServer } from "./support/kinds.ts";

/** `BATCHES=2000` is a longer proof. */
const BATCHES = Number(process.env.BATCHES ?? 80);

/** Workers die with runs, connections are cut, and answers to commits are lost. */
onEachServer((kind) => {
  const at = behindProxy(kind);

  test(
    "batches have exact counts and each callback once, whatever happens to processes and answers",
    async () => {
      await runBatches({
        url: at.scene.url,
        direct: at.scene.direct,
        processes: 8,
        batches: BATCHES,
        harm: (round) => {
          if (round % 3 === 0) at.proxy.cut();
          else void at.proxy.cutWhen(commitOf(kind, "completion"), { deliver: round % 3 === 1 });
        },
      });
    },
    2 * finishedWithin(BATCHES),
  );
});
