import { afterAll, beforeAll, expect, test } from "vitest";
import type { ServerKind } from "../servers/server.ts";
import { startServer, type TestServer } from "../servers/start.ts";
import { connect } from "./support/direct.ts";
import { onOwnServer } from "./support/kinds.ts";
import { perform } from "./support/performance.ts";
import { Scene } from "./support/server-scene.ts";

interface Odd {
  what: string;
  /** Behind "create database <name>". */
  database?: string;
  /** Statements for the server, or for the database, whose name replaces "it". */
  settings: string[];
}

const postgres: Odd[] = [
  {
    what: "every transaction serializable and deferrable",
    settings: [
      "alter database it set default_transaction_isolation = 'serializable'",
      "alter database it set default_transaction_deferrable = on",
    ],
  },
  {
    what: "other forms of dates, numbers, bytes and texts",
    settings: [
      "alter database it set datestyle = 'German'",
      "alter database it set timezone = 'America/St_Johns'",
      "alter database it set intervalstyle = 'sql_standard'",
      "alter database it set bytea_output = 'escape'",
      "alter database it set extra_float_digits = -3",
      "alter database it set standard_conforming_strings = off",
      "alter database it set escape_string_warning = off",
    ],
  },
  {
    what: "another order of texts",
    database:
      "template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C' locale_provider icu icu_locale 'tr-TR'",
    settings: [],
  },
  {
    what: "the order of bytes",
    database: "template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C' locale_provider libc",
    settings: [],
  },
];

const innodb: Odd[] = [
  {
    what: "every transaction serializable, and nothing strict",
    settings: ["set global transaction_isolation = 'SERIALIZABLE'", "set global sql_mode = ''"],
  },
  {
    what: "other quotes and no escapes",
    settings: ["set global sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'"],
  },
  {
    what: "the strictest of modes, and another zone",
    settings: [
      "set global sql_mode = 'TRADITIONAL,ONLY_FULL_GROUP_BY,PAD_CHAR_TO_FULL_LENGTH'",
      "set global time_zone = '-09:30'",
    ],
  },
  { what: "a database in which case does not count", database: "collate utf8mb4_general_ci", settings: [] },
  { what: "a database of latin1", database: "character set latin1", settings: [] },
];

/** Restores the settings that the tests of a server share. */
const RESET = [
  "set global transaction_isolation = 'REPEATABLE-READ'",
  "set global sql_mode = default",
  "set global time_zone = default",
];

/** MariaDB has another name for it; its older versions have only that one. */
const spelled = (kind: ServerKind, text: string) =>
  kind === "mariadb" ? text.replace("transaction_isolation", "tx_isolation") : text;

onOwnServer((kind) => {
  let server: TestServer;
  let plain: object;

  async function onServer(statements: string[]): Promise<void> {
    const admin = await connect(kind, server.url);
    for (const statement of statements) await admin.sql(spelled(kind, statement));
    await admin.end();
  }

  async function performOn({ database = "", settings }: Omit<Odd, "what">): Promise<object> {
    if (kind !== "postgres") await onServer([...RESET, ...settings]);
    const scene = await Scene.on(kind, server.url, { database });
    try {
      if (kind === "postgres")
        await onServer(settings.map((text) => text.replace(" it ", ` ${scene.database} `)));
      return await perform(scene);
    } finally {
      await scene.clear();
    }
  }

  beforeAll(async () => {
    server = await startServer(kind);
    plain = await performOn({ settings: [] });
  });
  afterAll(() => server.stop());

  test.each(kind === "postgres" ? postgres : innodb)(
    "$what: everything works as on a plain server",
    async (odd) => {
      expect(await performOn(odd)).toEqual(plain);
    },
  );

  test("the server has the settings of the scene", () => {
    expect(plain).toMatchObject({ keys: 6, most: 1, ticked: true, dueInView: "2031-02-03 04:05:06.789" });
  });
});
