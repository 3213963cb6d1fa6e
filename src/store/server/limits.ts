import { Chooser } from "../choose.ts";
import { COLUMNS, inOrder, LOOK, type Look, type Row, WINDOW } from "../sql/claimed.ts";
import { marks, type ServerDatabase, type Sql, type Tables } from "../sql/database.ts";
import { unite } from "./arms.ts";
import { stripeOf } from "./stripes.ts";
import { readUsage } from "./usage.ts";

/** How many lanes one claim walks at most; the next claim goes on from there. */
const LANES = 64;

/** How many runs of one lane are looked at beyond those already seen. */
const PER_LANE = 16;

/** Where something fits, hidden lanes are looked for by every so many claims only. */
const WALK_EVERY = 4;

const START = { priority: -(2 ** 31), lane: "" };

/**
 * Finds runs that fit under their limits. First without any lock; then the gates of what was chosen are locked, and
 * what is in use is counted again: whoever claims under a limit holds its gate, so until this transaction ends the
 * count can only fall.
 */
export class Limits {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  #claims = 0;
  readonly #places = new Map<string, { priority: number; lane: string }>();

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  /** `lost`: others held a gate of something that would have fitted. */
  async choose(
    tx: Sql,
    queues: string[],
    closed: Set<string>,
    wanted: number,
  ): Promise<{ rows: Row[]; lost: boolean }> {
    if (wanted <= 0 || queues.length === 0) return { rows: [], lost: false };
    const looks = await this.#windows(tx, queues);
    if (looks.length === 0) return { rows: [], lost: false };
    const { chosen, chooser } = await this.#pick(tx, looks, closed, wanted);
    if (chosen.length === 0) return { rows: [], lost: false };
    const open = await this.#lockGates(tx, chosen, (look) => chooser.gates(look));
    const recounted = new Chooser(await readUsage(tx, this.#t, chosen, closed));
    // A limit that came up in between has a gate of its own, which is not locked: its turn is the next claim.
    const asBefore = (look: Look) => recounted.gates(look).join() === chooser.gates(look).join();
    const sure = chosen.filter((look) => open.has(look) && asBefore(look) && recounted.take(look));
    return { rows: await this.#load(tx, sure), lost: open.size < chosen.length };
  }

  /** First the best of each queue in order, then, where closed lanes fill the view, lane by lane. */
  async #pick(
    tx: Sql,
    looks: Look[],
    closed: Set<string>,
    wanted: number,
  ): Promise<{ chosen: Look[]; chooser: Chooser }> {
    const fitting = async () => {
      const chooser = new Chooser(await readUsage(tx, this.#t, looks, closed));
      const chosen: Look[] = [];
      for (const look of looks.sort(inOrder)) {
        if (chosen.length < wanted && chooser.take(look)) chosen.push(look);
      }
      return { chosen, chooser };
    };
    const first = await fitting();
    const inQueue = Map.groupBy(looks, ({ queue }) => queue);
    const full = [...inQueue].filter(([, seen]) => seen.length >= WINDOW);
    if (first.chosen.length >= wanted || full.length === 0) return first;
    if (first.chosen.length > 0 && ++this.#claims % WALK_EVERY !== 0) return first;
    const before = looks.length;
    for (const [queue, seen] of full) {
      looks.push(...(await this.#walkLanes(tx, queue, seen, first.chooser, wanted)));
    }
    return looks.length > before ? fitting() : first;
  }

  #windows(tx: Sql, queues: string[]): Promise<Look[]> {
    const { text, params } = unite(
      queues.map((queue) => ({
        text: `select ${LOOK} from ${this.#t.runs}${this.#db.using(this.#t, "ready")}
                where state = 1 and limited = 1 and owner is null and queue = ?
                order by priority, run_at, id limit ${WINDOW}`,
        params: [queue],
      })),
    );
    return tx.all<Look>(text, ...params);
  }

  /** Further runs of lanes that are not known to be closed. */
  async #walkLanes(tx: Sql, queue: string, seen: Look[], chooser: Chooser, wanted: number): Promise<Look[]> {
    const place = this.#places.get(queue) ?? START;
    const heads = this.#db.readyLanes(this.#t, queue, place, LANES);
    const walked = await tx.all<{ priority: number; lane: string }>(heads.text, ...heads.params);
    if (walked.length < LANES) this.#places.delete(queue);
    else this.#places.set(queue, walked.at(-1)!);
    const inLane = Map.groupBy(seen, ({ lane }) => lane);
    const lanes = walked.filter(
      ({ lane }) => inLane.get(lane)?.some((look) => chooser.hasRoom(look)) ?? true,
    );
    if (lanes.length === 0) return [];
    const { text, params } = unite(
      lanes.map(({ priority, lane }) => ({
        text: `select ${LOOK} from ${this.#t.runs}${this.#db.using(this.#t, "lanes")}
                where state = 1 and limited = 1 and owner is null and queue = ? and priority = ? and lane = ?
                order by run_at, id limit ?`,
        params: [queue, priority, lane, (inLane.get(lane)?.length ?? 0) + Math.min(wanted, PER_LANE)],
      })),
    );
    const known = new Set(seen.map(({ id }) => id));
    return (await tx.all<Look>(text, ...params)).filter(({ id }) => !known.has(id));
  }

  /** Those of which every gate could be had. */
  async #lockGates(tx: Sql, looks: Look[], gatesOf: (look: Look) => string[]): Promise<Set<Look>> {
    const stripes = new Map(looks.map((look) => [look, gatesOf(look).map(stripeOf)]));
    const needed = [...new Set([...stripes.values()].flat())];
    if (needed.length === 0) return new Set(looks);
    const rows = await tx.all<{ id: number }>(
      `select id from ${this.#t.gates} where id in (${marks(needed)}) order by id${this.#db.skipLocked}`,
      ...needed,
    );
    const had = new Set(rows.map(({ id }) => id));
    return new Set(looks.filter((look) => stripes.get(look)!.every((stripe) => had.has(stripe))));
  }

  async #load(tx: Sql, chosen: Look[]): Promise<Row[]> {
    if (chosen.length === 0) return [];
    const columns = COLUMNS.split(", ").map((column) => `r.${column}`);
    const rows = await tx.all<Row>(
      `select ${columns.join(", ")} from ${this.#db.rows({ id: "integer" })} v join ${this.#t.runs} r on r.id = v.id
        where r.state = 1${this.#db.lockOnly(this.#db.skipLocked, "r")}`,
      JSON.stringify(chosen.map(({ id }) => [id])),
    );
    return rows.sort(inOrder);
  }
}
