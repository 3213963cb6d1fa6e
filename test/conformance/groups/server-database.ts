import type { DatabaseName } from "../../../src/store/store.ts";
import type { Clock } from "../../../src/time.ts";
import type { Database, Opened } from "../support/stores.ts";

/** A database on a server, made for tests. */
export interface Place {
  url: string;
  name: string;
}

/** The parts of a kind of server that the suite needs. */
export interface Host {
  create(): Promise<Place>;
  drop(place: Place): Promise<void>;
  /** Its teardown closes its connections and keeps the database. */
  open(place: Place, clock: Clock): Promise<Opened>;
  /** Runs statements on a separate connection; returns the rows of the last one. */
  query<Row>(url: string, ...statements: string[]): Promise<Row[]>;
  /** A `select` of the `name` of each table in the database. */
  tables: string;
}

/** Tables that the installation fills. */
const STAYS = /_(migrations|gates|ids)$/;

/** Creating a database takes ten times as long as emptying it, so tests that need the tables reuse one. */
export function serverDatabase(name: DatabaseName, host: Host): Database {
  const free: Place[] = [];
  let installed: string[] | undefined;

  const tablesOf = async ({ url }: Place) => {
    const rows = await host.query<{ name: string }>(url, host.tables);
    return rows.map((row) => row.name).sort();
  };

  /** False if a test has changed more than rows. */
  async function empty(place: Place): Promise<boolean> {
    const tables = await tablesOf(place);
    if (tables.join() !== installed?.join()) return false;
    const filled = tables.filter((table) => !STAYS.test(table));
    await host.query(place.url, ...filled.map((table) => `delete from ${table}`));
    return true;
  }

  return {
    name,

    async open(clock) {
      const place = await host.create();
      const opened = await host.open(place, clock);
      const teardown = async () => {
        await opened.teardown();
        await host.drop(place);
      };
      return { ...opened, teardown };
    },

    async openInstalled(clock) {
      const used = free.pop();
      const place = used ?? (await host.create());
      const opened = await host.open(place, clock);
      if (!used) await opened.store.install();
      installed ??= await tablesOf(place);
      const teardown = async () => {
        await opened.teardown();
        if (await empty(place)) free.push(place);
        else await host.drop(place);
      };
      return { ...opened, teardown };
    },

    async end() {
      for (const place of free.splice(0)) await host.drop(place);
    },
  };
}
