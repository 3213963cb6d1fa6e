import type { Punctual } from "../../../punctual.ts";
import { HOUR } from "../../../time.ts";
import { counted, span } from "../../render/formats.ts";
import { type Finding, warning } from "../../views/finding.ts";

/** Longest time that a process should take to add all members of a batch. */
const LONG_OPEN = HOUR;

/** Most open batches that are named. */
const MOST_NAMED = 5;

/** Warns about batches that are open for long: the process that added their members may have died. */
export async function checkOpenBatches(jobs: Punctual): Promise<Finding[]> {
  const { batches } = await jobs.batches({ unfinished: true, limit: 1000 });
  const now = Number(await jobs.now());
  const long = batches.filter(
    ({ state, createdAt }) => state === "open" && now - Number(createdAt) > LONG_OPEN,
  );
  const findings = long
    .slice(-MOST_NAMED)
    .map(({ id, name, createdAt, total }) =>
      warning(
        `batch ${id} "${name}" with ${counted(total, "member")} has been open for ${span(now - Number(createdAt))}, and cannot finish before it is sealed`,
        `punctual batch seal ${id}, or punctual batch cancel ${id}`,
      ),
    );
  const more = long.length - findings.length;
  if (more > 0)
    findings.push(
      warning(
        `${counted(more, "more batch is", "more batches are")} open as well`,
        "punctual batches --unfinished",
      ),
    );
  return findings;
}
