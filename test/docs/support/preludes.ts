const email = `
const jobs = new Punctual(url);
await jobs.install();
const email = jobs.define("email", async (args: { to: string }) => {});
`;

const postgres = `
import { drizzle as openDrizzle } from "drizzle-orm/node-postgres";
import { pgTable, serial, text } from "drizzle-orm/pg-core";
import openKnex from "knex";
import { type Generated, Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { Punctual } from "punctual";

const url = process.env.DATABASE_URL!;
const pool = new pg.Pool({ connectionString: url });
await pool.query("create table orders (id serial primary key, item text not null)");
const kysely = new Kysely<{ orders: { id: Generated<number>; item: string } }>({ dialect: new PostgresDialect({ pool }) });
const orders = pgTable("orders", { id: serial().primaryKey(), item: text().notNull() });
const drizzle = openDrizzle({ client: pool });
const knex = openKnex({ client: "pg", connection: url });
${email}`;

const mysql = `
import { drizzle as openDrizzle } from "drizzle-orm/mysql2";
import { mysqlTable, serial, varchar } from "drizzle-orm/mysql-core";
import openKnex from "knex";
import { type Generated, Kysely, MysqlDialect } from "kysely";
import callbacks from "mysql2";
import mysql2 from "mysql2/promise";
import { Punctual } from "punctual";

const url = process.env.DATABASE_URL!;
const uri = url.replace("mariadb:", "mysql:");
const pool = mysql2.createPool({ uri });
await pool.query("create table orders (id serial primary key, item varchar(100) not null)");
const kysely = new Kysely<{ orders: { id: Generated<number>; item: string } }>({ dialect: new MysqlDialect({ pool: callbacks.createPool({ uri }) }) });
const orders = mysqlTable("orders", { id: serial().primaryKey(), item: varchar({ length: 100 }).notNull() });
const drizzle = openDrizzle({ client: pool });
const knex = openKnex({ client: "mysql2", connection: uri });
${email}`;

/** Declarations that a block preceded by `<!-- prelude: name -->` may use. */
export const preludes: Record<string, string> = {
  batches: `
import { Punctual } from "punctual";

const jobs: Punctual = new Punctual("sqlite::memory:");
const rows = [{ name: "Ada" }, { name: "Grace" }];
const importRow = jobs.define("import-row", async (row: { name: string }) => {});
const fetchLogo = jobs.define("fetch-logo", async (args: { id: number }) => {});
const report = jobs.define("report", async (args: { id: number }) => {});
const alert = jobs.define("alert", async (args: { id: number }) => {});
const cleanUp = jobs.define("clean-up", async () => {});
const page = jobs.define("page", async (args: { url: string }) => {});
declare function linksOf(url: string): Promise<string[]>;
declare function sumOf(from: number, to: number): number;
`,
  jobs: `
import type { DatabaseSync } from "node:sqlite";
import { PermanentError, Punctual, PunctualError } from "punctual";

const jobs: Punctual = new Punctual("sqlite::memory:");
const email = jobs.define("email", async (args: { to: string }) => {});
class SendReport {
  static async handle(args: { day: number }): Promise<void> {}
}
class Reports {
  async daily(args: { day: number }): Promise<void> {}
}
declare const db: DatabaseSync;
declare function resize(id: number): Promise<void>;
declare function load(file: string, signal: AbortSignal): Promise<void>;
`,
  dashboard: `
import { Punctual } from "punctual";
import type { Authenticate } from "punctual/dashboard";

const jobs: Punctual = new Punctual("sqlite::memory:");
declare const auth: Authenticate;
declare function userOfSession(cookie: string | null): Promise<{ email: string; isAdmin: boolean } | null>;
declare class AppModule {}
`,
  catalog: `
import { Punctual } from "punctual";

const shop: Punctual = new Punctual("sqlite::memory:");
const email = shop.define("email", async (args: { to: string }) => {});
const report = shop.define("report", async ({ day = 1 }: { day?: number }) => ({ day }));
const catalog = shop.catalog({ email, report });
`,
  postgres,
  mysql,
  /** Blocks that are the same on every server. */
  servers: postgres,
  prisma: `
import { Punctual } from "punctual";

interface Tx {
  order: { create(row: { data: { item: string } }): Promise<unknown> };
}
declare const prisma: { $transaction(work: (tx: Tx) => Promise<void>): Promise<void> };
const jobs = new Punctual("postgres://localhost/shop");
const email = jobs.define("email", async (args: { to: string }) => {});
`,
};
