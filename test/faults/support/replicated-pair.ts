import { onTestFinished } from "vitest";
import { startProxy, type TestProxy } from "../../servers/proxy.ts";
import { startServer, type TestServer } from "../../servers/start.ts";
import { eventually } from "../../support/eventually.ts";
import { connect, type Direct } from "./direct.ts";
import { Fleet } from "./fleet.ts";

/** A PostgreSQL server and its standby, with Punctual's tables. Both end with the test. */
export class ReplicatedPair extends Fleet {
  readonly primary: TestServer;
  readonly standby: TestServer;
  /** Between the standby and the primary. */
  readonly link: TestProxy;

  private constructor(primary: TestServer, standby: TestServer, link: TestProxy) {
    const hosts = [standby, primary].map(({ port }) => `127.0.0.1:${port}`);
    super(`postgres://postgres@${hosts.join()}/postgres?target_session_attrs=read-write`);
    this.primary = primary;
    this.standby = standby;
    this.link = link;
  }

  static async start({ synchronous }: { synchronous: boolean }): Promise<ReplicatedPair> {
    const primary = await startServer("postgres");
    onTestFinished(() => primary.stop());
    const link = await startProxy(primary.port);
    onTestFinished(() => link.close());
    const standby = await startServer("postgres", { standbyOf: link.port });
    onTestFinished(() => standby.stop());
    const pair = new ReplicatedPair(primary, standby, link);
    if (synchronous) {
      const direct = await pair.connect(primary);
      await direct.sql("alter system set synchronous_standby_names = '*'");
      await direct.sql("select pg_reload_conf()");
      await eventually("the standby to be synchronous", async () => {
        const [found] = await direct.sql("select sync_state from pg_stat_replication");
        return found?.sync_state === "sync";
      });
    }
    await pair.punctual().install();
    return pair;
  }

  /** A connection outside the code under test. */
  async connect({ url }: TestServer): Promise<Direct> {
    const direct = await connect("postgres", url);
    onTestFinished(() => direct.end());
    return direct;
  }

  /** Waits until the standby has replayed everything that the primary has written. */
  async untilReplicated(): Promise<void> {
    const [primary, standby] = [await this.connect(this.primary), await this.connect(this.standby)];
    const [{ lsn }] = (await primary.sql<{ lsn: string }>("select pg_current_wal_lsn()::text as lsn")) as [
      { lsn: string },
    ];
    await eventually("the standby to catch up", async () => {
      const text = "select pg_last_wal_replay_lsn() >= ?::pg_lsn as reached";
      return (await standby.sql<{ reached: boolean }>(text, lsn))[0]!.reached;
    });
  }

  async promote(): Promise<void> {
    await (await this.connect(this.standby)).sql("select pg_promote()");
  }
}
