import pg from "pg";
import { expect, test } from "vitest";
import { onOwnServer } from "../faults/support/kinds.ts";
import { startServer } from "../servers/start.ts";
import { project, run } from "./support/punctual.ts";

onOwnServer(
  (kind) => {
    test("autovacuum that is off on the whole server is reported before the dead rows", async () => {
      const server = await startServer(kind, { args: ["-c", "autovacuum=off"] });
      const client = new pg.Client({ connectionString: server.url });
      try {
        const cwd = project();
        const call = (...args: string[]) => run([...args, "--db", server.url], { cwd });
        expect((await call("install")).code).toBe(0);
        await client.connect();
        await client.query(
          "insert into punctual_minutes (minute, name) select n, 'job' from generate_series(1, 12000) n",
        );
        await client.query("delete from punctual_minutes");
        await client.query("select pg_stat_force_next_flush()");
        const deadRows = async () =>
          (
            await client.query(
              "select n_dead_tup::int as dead from pg_stat_user_tables where relname = 'punctual_minutes'",
            )
          ).rows[0].dead;
        await expect.poll(deadRows, { timeout: 20_000 }).toBe(12_000);
        const { stdout } = await call("doctor", "--check", "--json");
        const checks = JSON.parse(stdout).checks as { text: string; cure: string }[];
        expect(checks.filter(({ text }) => /vacuum/.test(text))).toEqual([
          {
            level: "warning",
            text: "autovacuum is off on the whole server: dead rows stay in every table",
            cure: "alter system set autovacuum = on; select pg_reload_conf()",
          },
          {
            level: "warning",
            text: "punctual_minutes has 12,000 dead rows beside 0 live ones, and it was never vacuumed",
            cure: "vacuum punctual_minutes",
          },
        ]);
      } finally {
        await client.end();
        await server.stop();
      }
    });
  },
  ["postgres"],
);
