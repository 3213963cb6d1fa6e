import type { Contestant, ContestantProcess } from "./contestant.ts";
import { inProcess } from "./contestant.ts";
import { type DatabaseKind, Databases, isPresent } from "./databases.ts";
import { isInstalled, moduleOf, type Peer, tunedSettings, versionOf } from "./peers.ts";
import type { PunctualSettings } from "./punctual.ts";
import type { Settings } from "./system.ts";

export interface Build {
  /** Suffix of the names of its entries: empty for this checkout. */
  label: string;
  /** The folder of the built package. */
  folder: string;
}

/** A scheduler in one configuration, on one database. */
export interface Setup {
  name: string;
  contestant: Contestant;
  on: DatabaseKind;
  /** Added to the URL of the database. */
  parameters: string;
}

/** An empty database, and what can be started on it. */
export interface Scene {
  url: string;
  /** The process of the database's server. */
  server: number | undefined;
  first: ContestantProcess;
  /** Calls `work` with one more process of the same scheduler. */
  another<Result>(work: (process: ContestantProcess) => Promise<Result>): Promise<Result>;
}

/** Parts that all subjects share: the servers, the builds of Punctual, and the peers that are installed. */
export class Bench {
  readonly databases: Databases = new Databases();
  readonly quick: boolean;
  readonly builds: Build[];
  readonly #usedPeers = new Set<Peer>();

  constructor(quick: boolean, builds: Build[]) {
    this.quick = quick;
    this.builds = builds;
  }

  /** The short figure in a quick round. */
  pick(full: number, quick: number): number {
    return this.quick ? quick : full;
  }

  isPresent(kind: DatabaseKind): boolean {
    return isPresent(kind);
  }

  punctual(
    on: DatabaseKind,
    configuration = "",
    settings: Omit<PunctualSettings, "built"> = {},
    parameters = "",
  ): Setup[] {
    return this.builds.map(({ label, folder }) => ({
      name: [`Punctual${label}`, configuration].filter(Boolean).join(", "),
      contestant: {
        module: new URL("punctual.ts", import.meta.url).pathname,
        settings: { ...settings, built: folder },
      },
      on,
      parameters,
    }));
  }

  /** The bare loop on the tables of this checkout. */
  bareLoop(on: DatabaseKind, parameters = ""): Setup[] {
    const module = new URL("bare-loop.ts", import.meta.url).pathname;
    const settings = { built: this.builds[0]!.folder };
    return [{ name: "bare loop", contestant: { module, settings }, on, parameters }];
  }

  /** None where the peer or its database is missing. */
  async peer(
    peer: Peer,
    on: DatabaseKind,
    configuration: "tuned" | "default",
    {
      settings = {},
      parameters = "",
      name,
    }: { settings?: Settings; parameters?: string; name?: string } = {},
  ): Promise<Setup[]> {
    if (!isInstalled(peer) || !isPresent(on)) return [];
    this.#usedPeers.add(peer);
    const tuned = configuration === "tuned" ? await tunedSettings(peer) : {};
    return [
      {
        name: name ?? `${peer}, ${configuration}`,
        contestant: { module: moduleOf(peer), settings: { ...tuned, ...settings } },
        on,
        parameters,
      },
    ];
  }

  /** Punctual on every database that is present, and every peer as it is without options. */
  async everyone(): Promise<Setup[]> {
    const peers: [Peer, DatabaseKind][] = [
      ["graphile-worker", "postgres"],
      ["pg-boss", "postgres"],
      ["bullmq", "redis"],
      ["plainjob", "sqlite"],
      ["sidequest", "mariadb"],
    ];
    const setups = this.ownDatabases.flatMap((on) => this.punctual(on));
    for (const [peer, on] of peers) setups.push(...(await this.peer(peer, on, "default", { name: peer })));
    return setups;
  }

  /** The databases that Punctual runs on and that are present. */
  get ownDatabases(): ("postgres" | "sqlite" | "mariadb" | "mysql")[] {
    return (["postgres", "sqlite", "mariadb", "mysql"] as const).filter((on) => this.isPresent(on));
  }

  /** Calls `work` with an empty database, and a process of the scheduler that has installed itself there. */
  using<Result>(setup: Setup, work: (scene: Scene) => Promise<Result>): Promise<Result> {
    const { contestant, on, parameters } = setup;
    return this.databases.using(on, ({ url, pid: server }) => {
      const address = `${url}${parameters}`;
      return inProcess(contestant, address, async (first) => {
        await first.ask("install");
        const another: Scene["another"] = (work) => inProcess(contestant, address, work);
        return work({ url: address, server, first, another });
      });
    });
  }

  /** Calls `work` with the URL of a database in which `count` runs wait. No process uses it any more. */
  usingBacklog<Result>(
    setup: Setup,
    count: number,
    work: (scene: Scene) => Promise<Result>,
  ): Promise<Result> {
    return this.using(setup, async (scene) => {
      await scene.first.ask("fill", { count });
      await scene.first.end();
      return work(scene);
    });
  }

  /** Names and versions of the databases and peers that were used. */
  async describe(): Promise<string[]> {
    return [
      ...(await this.databases.describe()),
      ...[...this.#usedPeers].map((peer) => `${peer} ${versionOf(peer)}`),
    ];
  }
}
