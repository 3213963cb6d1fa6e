import type { StatusReport } from "../../../status/report.ts";
import type { Inspection } from "../../../store/maintenance.ts";
import { version } from "../../../version.ts";
import type { VersionsView } from "../contract.ts";

/** Returns the versions of this process, of the live workers and of the schema. */
export function toVersions({ workers }: StatusReport, { schema }: Inspection): VersionsView {
  // A bundled program does not know its version.
  const live = workers.filter(({ parallel, facts }) => parallel > 0 && facts?.version !== "");
  const byVersion = Map.groupBy(live, ({ facts }) => facts?.version ?? null);
  return {
    dashboard: version(),
    workers: [...byVersion]
      .map(([name, of]) => ({ version: name, count: of.length }))
      .sort((a, b) => b.count - a.count || (a.version ?? "").localeCompare(b.version ?? "")),
    schema: { found: schema.found, known: schema.needed },
    // Note 27: the list of migrations decides which code may use the tables.
    writable: schema.usable,
  };
}
