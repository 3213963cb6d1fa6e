import type { DatabaseName } from "../../../src/store/store.ts";
import type { Clock } from "../../../src/time.ts";
import type { Database, Opened } from "../support/stores.ts";

/** A database on a server, made for tests. */
export interface Place {
  url: string;
  name: string;
}

/** What a kind of server has to offer for the suite. */
export interface Host {
  create(): Promise<Place>;
  drop(place: Place): Promise<void>;
  /** Its teardown closes what it has opened, and leaves the database. */
  open(place: Place, clock: Clock): Promise<Opened>;
  /** Runs statements on a connection of its own; gives the rows of the last one. */
  query<Row>(url: string, ...statements: string[]): Promise<Row[]>;
  /** A `select` of the `name` of each table in the database. */
  tables: string;
}

/** What the installation fills. */
const STAYS = /_(migrations|gates|ids)$/;

/** To make a database takes ten times as long as to empty it, so tests that need the tables get one from those before them. */
export function serverDatabase(name: DatabaseName, host: Host): Database {
  const free: Place[] = [];
  let installed: string[] | undefined;

  const tablesOf = async ({ url }: Place) => {
    const rows = await host.query<{ name: string }>(url, host.tables);
    return rows.map((row) => row.name).sort();
  };

  /** False where a test has left more than rows, or less. */
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
