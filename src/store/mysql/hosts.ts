import { describeFailure } from "../server/connections.ts";
import { answerInTime, HostConnections } from "../server/host-connections.ts";
import { type HeldMysqlConnection, type MysqlConnections, OwnConnections } from "./connections.ts";
import type { Mysql, MysqlConnection } from "./driver.ts";
import { codeOf, isConnectionLost, isMisconfiguration, messageOf } from "./errors.ts";
import { query, rowsOf, trackErrors } from "./query.ts";
import type { MysqlHost } from "./url.ts";

/** Readers of Aurora have innodb_read_only. */
export const IS_READ_ONLY = "if(@@global.read_only or @@global.innodb_read_only, 1, 0)";

/** The connections to the writer among the hosts of a URL. */
export class MysqlHostConnections
  extends HostConnections<HeldMysqlConnection, OwnConnections>
  implements MysqlConnections
{
  readonly isolationLevelStatement = null;
  readonly isMultiStatement = true;
  readonly max: number;

  constructor(hosts: MysqlHost[], { createPool, createConnection }: Mysql) {
    const max = Number(hosts[0]!.options.connectionLimit);
    super({
      names: hosts.map(({ name }) => name),
      open: (index) => new OwnConnections(createPool(hosts[index]!.options), max),
      isWriter: (index) => trackErrors(askOnce(createConnection(hosts[index]!.options))),
      isLost: isConnectionLost,
      isMisconfiguration,
      readOnlyError: () =>
        Object.assign(new Error("The server is running with the --read-only option"), { errno: 1290 }),
      describe: (error) => describeFailure(codeOf(error), messageOf(error)),
      track: (error) => trackErrors(Promise.reject(error)),
    });
    this.max = max;
  }
}

/** Whether the host can be written. Ends the connection, also one that is made too late. */
async function askOnce(connecting: Promise<MysqlConnection>): Promise<boolean> {
  try {
    return await answerInTime(ask(connecting));
  } finally {
    connecting.then(
      (connection) => connection.destroy(),
      () => {},
    );
  }
}

async function ask(connecting: Promise<MysqlConnection>): Promise<boolean> {
  const answer = await query(await connecting, `select ${IS_READ_ONLY} as read_only`, []);
  const [row] = rowsOf<{ read_only: number }>(answer);
  return row!.read_only === 0;
}
