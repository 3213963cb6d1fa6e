import { systemClock } from "../../time.ts";
import { describeFailure } from "../server/connections.ts";
import { HostConnections } from "../server/host-connections.ts";
import { ASK_TIMEOUT } from "../server/retries.ts";
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
      isWriter: (index) => trackErrors(ask(createConnection(hosts[index]!.options))),
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

async function ask(connecting: Promise<MysqlConnection>): Promise<boolean> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const cancel = systemClock.after(ASK_TIMEOUT, () => reject(timedOut()));
  try {
    const connection = await Promise.race([connecting, late]);
    const [row] = rowsOf<{ read_only: number }>(
      await Promise.race([query(connection, `select ${IS_READ_ONLY} as read_only`, []), late]),
    );
    return row!.read_only === 0;
  } finally {
    cancel();
    connecting.then(
      (connection) => connection.destroy(),
      () => {},
    );
  }
}

function timedOut(): Error {
  return Object.assign(new Error(`no answer within ${ASK_TIMEOUT / 1000} s`), { code: "ETIMEDOUT" });
}
