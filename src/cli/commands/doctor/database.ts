import { existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { PunctualError } from "../../../errors.ts";
import type { Punctual } from "../../../punctual.ts";
import type { Inspection, MissingObject } from "../../../store/maintenance.ts";
import { missingFile } from "../../load/database.ts";
import { exitCodeOf, exitCodes } from "../../output/exit-codes.ts";
import { span } from "../../render/formats.ts";
import { iconsFor } from "../../render/icons.ts";
import { error, type Finding, fixable, ok, warning } from "../../views/finding.ts";
import { messageOf } from "./setup.ts";
import { upkeep } from "./upkeep.ts";

/** Largest difference of the clocks without a warning: times printed by this machine are wrong by the difference. */
const SKEW = 2000;

/** A round trip this slow makes every statement slow: the doctor warns. */
const SLOW = 250;

/** Checks that the database answers and that no table or index is missing. `usable`: the tables can be read. */
export async function database(
  jobs: Punctual,
  shown: string | null,
): Promise<{ findings: Finding[]; usable: boolean; inspection: Inspection | null }> {
  const file = missingFile(shown);
  if (file !== null && existsSync(dirname(file))) {
    const text = `${shown} does not exist yet: it is created on first use`;
    return {
      findings: [fixable(warning(text, "punctual install"), "install the tables")],
      usable: false,
      inspection: null,
    };
  }
  try {
    const inspection = await jobs.inspect();
    const findings = [
      reached(inspection, shown),
      ...hosts(inspection),
      ...clocks(inspection),
      ...schema(inspection),
    ];
    const { usable } = inspection.schema;
    return {
      findings: [...findings, ...sqlite(inspection), ...engine(inspection), ...upkeep(inspection)],
      usable,
      inspection,
    };
  } catch (fault) {
    const exit = fault instanceof PunctualError ? exitCodeOf(fault) : exitCodes.failed;
    return { findings: [error(messageOf(fault), undefined, exit)], usable: false, inspection: null };
  }
}

function reached({ version, latency }: Inspection, shown: string | null): Finding {
  const name = shown === null ? "database" : `database ${shown}`;
  const text = [name, version, `${Math.max(1, Math.round(latency))} ms`].join(` ${iconsFor().dot} `);
  return latency > SLOW
    ? warning(`${text}: every statement waits that long`, "run the workers closer to the database")
    : ok(text);
}

/** The role of each host, and a server that cannot be written. */
function hosts({ hosts: all, readOnly }: Inspection): Finding[] {
  const findings = all.map(({ host, role, reason }) =>
    role === "unreachable"
      ? warning(
          `host ${host} does not answer (${reason})`,
          "start the server, or remove the host from the URL",
        )
      : ok(`host ${host} is ${role === "writer" ? "the writer" : "read-only"}`),
  );
  const writers = all.filter(({ role }) => role === "writer");
  if (writers.length > 1) {
    const names = writers.map(({ host }) => host).join(" and ");
    const text = `${names} can both be written: processes that use different ones lose each other's runs`;
    findings.push(error(text, "make all but the primary read-only", exitCodes.database));
  }
  if (readOnly) {
    const text = "this server is read-only: it is a standby or a replica (DATABASE_READ_ONLY)";
    findings.push(error(text, "name the primary, or all hosts: postgres://a,b/database", exitCodes.database));
  }
  return findings;
}

function engine({ unsafe }: Inspection): Finding[] {
  if (unsafe === null) return [];
  const cure =
    "use PostgreSQL, MySQL, MariaDB or SQLite, or set it to pessimistic locking and true read committed";
  return [error(`this engine is not safe: ${unsafe} (ENGINE_UNSAFE)`, cure, exitCodes.database)];
}

function clocks({ skew }: Inspection): Finding[] {
  if (Math.abs(skew) < SKEW) return [];
  return [
    warning(
      `this machine's clock is ${span(skew)} ${skew > 0 ? "behind" : "ahead of"} the database's, which decides when runs are due`,
      "synchronise the clock with NTP",
    ),
  ];
}

function schema({ schema: { found, needed, usable }, missing }: Inspection): Finding[] {
  if (found > needed && !usable) {
    const text = `schema ${found} needs newer code: this version knows schemas up to ${needed}`;
    return [error(text, "update punctual", exitCodes.refused)];
  }
  if (found < needed) {
    const text = found === 0 ? "the tables are missing" : `schema ${found}, ${needed} is needed`;
    const fix = found === 0 ? "install the tables" : `bring the tables to schema ${needed}`;
    return [fixable(error(text, "punctual install", exitCodes.database), fix)];
  }
  if (missing.length === 0) return [ok(`schema ${found}, nothing missing`)];
  // A missing table cannot be fixed: its rows are lost, and its indexes and views depend on it.
  const canFix = !missing.some(({ kind }) => kind === "table" || kind === "sequence");
  return [ok(`schema ${found}`), ...missing.map((one) => lacks(one, canFix))];
}

function lacks({ name, kind, statement }: MissingObject, canFix: boolean): Finding {
  const cure = statement.replace(/\s+/g, " ");
  if (kind === "table") return error(`${name} is missing`, cure);
  const finding = warning(`${name} is missing`, cure);
  return canFix ? fixable(finding, `create ${name}`) : finding;
}

/** Network file systems, on which SQLite's locks do not work between machines, by their numbers in Linux. */
const NETWORK: Record<number, string> = {
  26985: "NFS",
  20859: "SMB",
  4283649346: "CIFS",
  4266872130: "SMB",
  16914839: "9p",
};

function sqlite({ settings }: Inspection): Finding[] {
  const { journal_mode: journal, synchronous, file } = settings;
  if (journal === undefined || file === undefined || file === ":memory:") return [];
  const findings: Finding[] = [];
  if (journal !== "wal") {
    findings.push(
      warning(
        `SQLite's journal mode is "${journal}": readers and writers block each other`,
        "put the file on a local disk, where WAL works",
      ),
    );
  }
  if (synchronous === "off") {
    findings.push(
      warning(
        "synchronous is off: a power failure may corrupt the file",
        "remove synchronous=off from the URL",
      ),
    );
  }
  const network = networkOf(file);
  if (network !== null) {
    findings.push(
      error(
        `${file} is on ${network}, where SQLite's locks do not work`,
        "use a local disk, or a server database",
      ),
    );
  }
  return findings;
}

function networkOf(file: string): string | null {
  try {
    return NETWORK[Number(statfsSync(file).type) >>> 0] ?? null;
  } catch {
    return null;
  }
}
