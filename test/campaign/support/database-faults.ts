import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "./faults.ts";

/** Faults of a server. */
export const serverFaults: Record<string, Fault> = {
  async "kill the server"({ target, between }) {
    await target.server!.kill();
    await pause(between(0, 3000));
    await target.server!.start();
  },
  async "restart the server"({ target }) {
    await target.server!.restart();
  },
  async "freeze the server"({ target, between }) {
    await target.server!.kill("SIGSTOP");
    await pause(between(200, 6000));
    await target.server!.kill("SIGCONT");
  },
};

/** Faults of a cluster. */
export const clusterFaults: Record<string, Fault> = {
  async "kill a node"({ target: { cluster }, between }) {
    await cluster!.kill(between(0, cluster!.size - 1));
  },
  async "freeze a node"({ target: { cluster }, between }) {
    await cluster!.freeze(between(0, cluster!.size - 1), between(200, 10_000));
  },
};

/** MariaDB's users with all privileges write to a read-only server. A global lock refuses their writes. */
const readOnly: Record<string, { on: string[]; off: string[] }> = {
  postgres: {
    on: ["alter system set default_transaction_read_only = on", "select pg_reload_conf()"],
    off: ["alter system reset default_transaction_read_only", "select pg_reload_conf()"],
  },
  mysql: { on: ["set global super_read_only = 1"], off: ["set global super_read_only = 0, read_only = 0"] },
  mariadb: { on: ["flush tables with read lock"], off: ["unlock tables"] },
};

export const readOnlyFaults: Record<string, Fault> = {
  async "make the server read-only"({ target, between }) {
    const { on, off } = readOnly[target.kind]!;
    const access = await target.connect();
    try {
      for (const statement of on) await access.all(statement);
      await pause(between(200, 6000));
    } finally {
      for (const statement of off) await access.all(statement);
      await access.close();
    }
  },
};

export const diskFaults: Record<string, Fault> = {
  async "fill the disk"({ target: { disk, server }, between }) {
    disk!.fill();
    try {
      await pause(between(500, 6000));
    } finally {
      disk!.free();
    }
    // A server may end when it cannot write its log.
    await pause(500);
    if (server && !server.isRunning) await server.start();
  },
};
