// The least that a scheduler with history has to write, on Punctual's own tables: claim 500, move them to history,
// delete them. No leases, limits, fences or retries.
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { ServerDatabase } from "../../src/store/sql/database.ts";
import { systemClock } from "../../src/time.ts";
import { open as openPunctual } from "./punctual.ts";
import type { Payload, Settings, System } from "./system.ts";

const GROUP = 500;
const WAITING = `state = 1 and limited = 0 and owner is null and queue = 'default' order by priority, run_at, id limit ${GROUP}`;
const COPIED = "name, queue, lane, limited, priority, run_at, args, attempts, crashes, created_at, id";

interface Waiting {
  id: number;
  args: string;
}

type Handle = (payload: Payload) => void;

export async function open(url: string, settings: Settings): Promise<System> {
  const punctual = await openPunctual(url, settings);
  const drain = url.startsWith("sqlite:") ? drainFile : drainServer;
  return { ...punctual, work: (handle) => drain(url, settings.built as string, handle) };
}

const call = (handle: Handle, rows: Waiting[]) => {
  for (const { args } of rows) handle(JSON.parse(args) as Payload);
};

async function drainServer(url: string, built: string, handle: Handle): Promise<void> {
  const db = await openServer(url, built);
  const ids = db.rows({ id: "integer" });
  const qualified = COPIED.replace(/\w+/g, "r.$&");
  const group = () =>
    db.transaction(async (tx) => {
      const rows = await tx.all<Waiting>(
        `select id, name, args from punctual_runs where ${WAITING} for update skip locked`,
      );
      const list = JSON.stringify(rows.map(({ id }) => [id]));
      const running = { state: "2", attempts: "1", locked_by: "'w'" };
      await tx.run(db.updateFrom("punctual_runs", running, ids), list);
      call(handle, rows);
      await tx.run(
        `insert into punctual_history (${COPIED}, state, finished_at)
         select ${qualified}, 3, 1 from ${ids} v join punctual_runs r on r.id = v.id`,
        list,
      );
      await tx.run(db.deleteFrom("punctual_runs", "id", ids), list);
      return rows.length;
    });
  while ((await group()) > 0);
}

/** Punctual's own connections, so that the driver is the same. */
async function openServer(url: string, built: string): Promise<ServerDatabase> {
  const options = { clock: systemClock, prefix: "punctual_" };
  const load = (file: string) => import(pathToFileURL(join(built, file)).href);
  const opened = url.startsWith("postgres")
    ? await (await load("store/postgres/open.js")).postgresParts(url, options)
    : await (await load("store/mysql/open.js")).mysqlParts(url, options);
  return opened.db;
}

async function drainFile(url: string, _: string, handle: Handle): Promise<void> {
  const [file, query] = url.slice("sqlite:".length).split("?") as [string, string?];
  const db = new DatabaseSync(file);
  db.exec(`pragma synchronous = ${new URLSearchParams(query).get("synchronous") ?? "full"}`);
  const claim = db.prepare(
    `update punctual_runs set state = 2, attempts = 1, lease_token = 't', locked_by = 'w', locked_until = 1
      where id in (select id from punctual_runs where ${WAITING}) returning id, name, args`,
  );
  const given = "id in (select value from json_each(?))";
  const keep = db.prepare(
    `insert into punctual_history (${COPIED}, state, finished_at)
     select ${COPIED}, 3, 1 from punctual_runs where ${given} and lease_token = 't'`,
  );
  const remove = db.prepare(`delete from punctual_runs where ${given}`);
  for (;;) {
    db.exec("begin immediate");
    const rows = claim.all() as unknown as Waiting[];
    call(handle, rows);
    const ids = JSON.stringify(rows.map(({ id }) => id));
    keep.run(ids);
    remove.run(ids);
    db.exec("commit");
    if (rows.length === 0) return db.close();
  }
}
