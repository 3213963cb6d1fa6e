import { setTimeout as pause } from "node:timers/promises";
import type { TestProxy } from "../../servers/proxy.ts";
import type { Note } from "../../support/journal.ts";
import type { Role } from "./actor.ts";
import { clusterFaults, diskFaults, readOnlyFaults, serverFaults } from "./database-faults.ts";
import type { Fleet } from "./fleet.ts";
import type { Target } from "./target.ts";

export interface FaultScene {
  fleet: Fleet;
  target: Target;
  note: Note;
  /** Returns a whole number of the range, both ends included. */
  between(least: number, most: number): number;
}

/** Does damage, and resolves when it is over. */
export type Fault = (scene: FaultScene) => Promise<void>;

const pick = <Item>(items: Item[], { between }: FaultScene): Item | undefined =>
  items[between(0, Math.max(0, items.length - 1))];

async function replaceOne(scene: FaultScene, role: Role): Promise<void> {
  const member = pick(scene.fleet.alive(role), scene);
  if (member) await scene.fleet.replace(member);
}

/** Longer than the lock timeout of MySQL and MariaDB, which is 5 s, and than a lease. */
const LONGEST_LOCK = 7000;

/** Faults of processes, on every database. */
const processFaults: Record<string, Fault> = {
  "kill a worker": (scene) => replaceOne(scene, "worker"),
  "kill a supervisor": (scene) => replaceOne(scene, "supervisor"),
  "kill a producer": (scene) => replaceOne(scene, "producer"),
  "kill a collector": (scene) => replaceOne(scene, "collector"),
  async "freeze a process"(scene) {
    const { fleet, note, between } = scene;
    const frozen = pick(fleet.alive("worker", "supervisor", "producer"), scene);
    if (!frozen) return;
    const text = frozen.name;
    note("freeze", { text });
    frozen.child.signal("SIGSTOP");
    await pause(between(200, 12_000));
    frozen.child.signal("SIGCONT");
    note("thaw", { text });
  },
  "deploy another version": ({ fleet }) => fleet.deploy(),
  async "hold locks"(scene) {
    const { target, between } = scene;
    await holding(target, lockStatements(target), between(200, LONGEST_LOCK));
  },
  async "read for long"(scene) {
    const { target, between } = scene;
    const begin = target.kind === "sqlite" ? ["begin"] : ["begin", "select count(*) from punctual_history"];
    await holding(target, [...begin, "select count(*) from punctual_runs"], between(1000, 8000));
  },
};

/** Seconds by which a clock is set wrong. */
const CLOCK_STEPS = [-3600, -60, -5, 5, 60, 3600];

/** Clocks of processes. The time of a file database is that of the processes, which share one clock. */
const clockFaults: Record<string, Fault> = {
  async "set a clock"(scene) {
    const member = pick(scene.fleet.alive("worker", "supervisor", "producer", "collector"), scene);
    const seconds = pick(CLOCK_STEPS, scene)!;
    scene.note("clock", { text: `${member?.name} ${seconds} s` });
    member?.setClock?.(seconds);
  },
};

/** Other people's changes of the tables. */
const schemaFaults: Record<string, Fault> = {
  async "change the schema"({ target }) {
    const access = await target.connect();
    const name = "campaign_extra";
    const on = target.kind === "mysql" || target.kind === "mariadb" ? " on punctual_history" : "";
    try {
      await access.all(`create index ${name} on punctual_history (worker)`);
      await access.all(`drop index ${name}${on}`);
    } finally {
      await access.close();
    }
  },
};

const withProxy = (act: (proxy: TestProxy, scene: FaultScene) => Promise<void>) => (scene: FaultScene) =>
  act(pick(scene.target.proxies, scene)!, scene);

/** Faults of the network to a server. */
const networkFaults: Record<string, Fault> = {
  "cut connections": withProxy(async (proxy) => proxy.cut()),
  "leave connections half open": withProxy(async (proxy, { between }) => {
    proxy.pause();
    await pause(between(200, 8000));
    proxy.resume();
  }),
  "refuse connections": withProxy(async (proxy, { between }) => {
    proxy.refuse();
    await pause(between(200, 5000));
    proxy.resume();
  }),
  "delay packets": withProxy(async (proxy, { between }) => {
    proxy.delay(between(5, 100));
    await pause(between(1000, 6000));
    proxy.delay(0);
  }),
  "lose an answer": withProxy(async (proxy, { between }) => {
    const word = ["commit", "insert into punctual_runs", "update punctual_runs"][between(0, 2)]!;
    const lost = proxy.cutWhen((sent) => sent.includes(word), { deliver: true });
    await Promise.race([lost, pause(3000)]);
  }),
  "lose a statement": withProxy(async (proxy) => {
    const lost = proxy.cutWhen((sent) => sent.includes("commit"), { deliver: false });
    await Promise.race([lost, pause(3000)]);
  }),
};

/** Returns the faults that a target can have, by name. `hasClocks`: the clocks of the fleet can be set. */
export function faultsOf(target: Target, hasClocks: boolean): Record<string, Fault> {
  return {
    ...processFaults,
    ...(hasClocks && clockFaults),
    // Group Replication does not support changes of a table that another server writes to.
    ...(target.name !== "group-replication" && schemaFaults),
    ...(target.proxies.length > 0 && networkFaults),
    ...(target.server && serverFaults),
    ...(target.server && readOnlyFaults),
    ...(target.disk && diskFaults),
    ...(target.cluster && clusterFaults),
  };
}

function lockStatements({ kind }: Target): string[] {
  if (kind === "sqlite") return ["begin immediate"];
  const rows = (table: string, order: string) =>
    `select 1 from punctual_${table} order by ${order} limit 40 for update`;
  // Not in the order of the store, so that deadlocks come about.
  return ["begin", rows("gates", "id desc"), rows("runs", "id desc"), rows("jobs", "name desc")];
}

/** Keeps a transaction open for some time. A server may end it before. */
async function holding(target: Target, statements: string[], ms: number): Promise<void> {
  const access = await target.connect();
  try {
    for (const statement of statements) await access.all(statement);
    await pause(ms);
    await access.all("rollback");
  } finally {
    await access.close();
  }
}
