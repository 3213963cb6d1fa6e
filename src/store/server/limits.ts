import { type Candidate, Chooser, type Usage } from "../choose.ts";
import { COLUMNS, claimable, LOOK, type Look, type Row, WINDOW } from "../sql/claimed.ts";
import { marks, type ServerDatabase, type Sql, type Tables } from "../sql/database.ts";
import type { Order } from "../sql/order.ts";
import type { ClaimRequest } from "../store.ts";
import { unite } from "./arms.ts";
import { stripeOf } from "./stripes.ts";
import { type Limited, limitedBy, readUsage } from "./usage.ts";

/** How many lanes one claim walks at most; the next claim goes on from there. */
const LANES = 64;

/** How many runs of one lane are looked at beyond those already seen. */
const PER_LANE = 16;

/** Where something fits, one looks farther by every so many claims only. */
const FAR_EVERY = 4;

/** How many runs of a queue are looked at where of very many only some of the first could be had the last time. */
const NEAR = 12;

const START = { priority: -(2 ** 31), lane: "" };

/** Ready runs under limits, and what is in use of these. */
export interface Sight {
  looks: Look[];
  usage: Usage;
  /** The condition they were found by. */
  claimable: string;
  /** How many of each queue were asked for. */
  window: number;
  /** Also what is out of sight is to be looked for. */
  far: boolean;
}

/**
 * Finds runs that fit under their limits. First without any lock; then the gates of what was chosen are locked, and
 * what is in use is counted again: whoever claims under a limit holds its gate, so until this transaction ends the
 * count can only fall. A run that takes the place of one that this transaction has just settled needs no gate: nobody
 * sees the one without the other, so the count stays what it was.
 */
export class Limits {
  readonly #db: ServerDatabase;
  readonly #t: Tables;
  #looks = 0;
  /** Of all in view, only some of the first could be had. */
  #isNear = false;
  readonly #places = new Map<string, { priority: number; lane: string }>();
  /** Of the runs seen last: their limits are asked for before it is known that it is them again. */
  #last: Limited | null = null;

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  /** The first runs of each queue. */
  async look(tx: Sql, queues: string[], closed: Set<string>, request: ClaimRequest): Promise<Sight | null> {
    if (queues.length === 0) return null;
    const guess = this.#last;
    const far = ++this.#looks % FAR_EVERY === 0;
    const window = this.#isNear && !far ? NEAR : WINDOW;
    const [looks, usage] = await Promise.all([
      this.#windows(tx, queues, window, claimable(request)),
      guess && readUsage(tx, this.#db, this.#t, guess, closed),
    ]);
    if (looks.length === 0) return null;
    const limited = limitedBy(looks);
    this.#last = limited;
    const guessed =
      guess &&
      limited.names.every((name) => guess.names.includes(name)) &&
      limited.queues.every((queue) => guess.queues.includes(queue));
    return {
      looks,
      usage: (guessed && usage) || (await readUsage(tx, this.#db, this.#t, limited, closed)),
      claimable: claimable(request),
      window,
      far,
    };
  }

  /** `freed`: what this transaction has settled. `lost`: others held a gate of something that would have fitted. */
  async choose(
    tx: Sql,
    sight: Sight,
    closed: Set<string>,
    order: Order,
    wanted: number,
    freed: Candidate[],
  ): Promise<{ rows: Row[]; lost: boolean }> {
    const { chosen, chooser } = await this.#pick(tx, sight, closed, order, wanted);
    if (chosen.length === 0) return { rows: [], lost: false };
    const heirs = inherit(chosen, freed);
    if (heirs.size === chosen.length)
      return { rows: inOrderOf(chosen, await this.#load(tx, chosen)), lost: false };
    const gated = chosen.filter((look) => !heirs.has(look));
    const open = new Set([...heirs, ...(await this.#lockGates(tx, gated, (look) => chooser.gates(look)))]);
    const lost = open.size < chosen.length;
    if (open.size === 0) return { rows: [], lost };
    const [usage, rows] = await Promise.all([
      readUsage(tx, this.#db, this.#t, limitedBy([...open]), closed),
      this.#load(tx, [...open]),
    ]);
    const recounted = new Chooser(usage);
    // A limit that came up in between has a gate of its own, which is not locked: its turn is the next claim.
    const asBefore = (look: Look) => recounted.gates(look).join() === chooser.gates(look).join();
    const loaded = new Set(rows.map(({ id }) => id));
    const fits = (look: Look) => loaded.has(look.id) && asBefore(look) && recounted.take(look);
    const sure = [...open].filter(fits);
    return { rows: inOrderOf(sure, rows), lost };
  }

  /** First the best of each queue in order, then, where closed lanes fill the view, lane by lane. */
  async #pick(
    tx: Sql,
    { looks, usage, claimable: condition, window, far }: Sight,
    closed: Set<string>,
    order: Order,
    wanted: number,
  ): Promise<{ chosen: Look[]; chooser: Chooser }> {
    const fitting = (used: Usage) => {
      const chooser = new Chooser(used);
      const open = new Set<string>();
      if (order.hasShares) for (const look of looks) if (chooser.hasRoom(look)) open.add(look.queue);
      const chosen = order.pick(looks, wanted, (look) => chooser.take(look));
      return { chosen, chooser, open };
    };
    const first = fitting(usage);
    const inQueue = Map.groupBy(looks, ({ queue }) => queue);
    const full = [...inQueue].filter(([, seen]) => seen.length >= window);
    const isNear = (look: Look) => inQueue.get(look.queue)!.indexOf(look) < NEAR / 2;
    const onlyNear = full.length > 0 && first.chosen.length > 0 && first.chosen.every(isNear);
    this.#isNear = onlyNear && !order.hasShares;
    // What other queues have must not keep a queue from its share whose runs are out of sight.
    const isHidden = order.hasShares && full.some(([queue]) => !first.open.has(queue));
    if ((first.chosen.length >= wanted && !isHidden) || full.length === 0) return first;
    if (first.chosen.length > 0 && !far) return first;
    if (window === NEAR) {
      const more = await this.#windows(tx, [...inQueue.keys()], WINDOW, condition);
      const used = await readUsage(tx, this.#db, this.#t, limitedBy(more), closed);
      const wider = { looks: more, usage: used, claimable: condition, window: WINDOW, far };
      return this.#pick(tx, wider, closed, order, wanted);
    }
    const before = looks.length;
    for (const [queue, seen] of full) {
      looks.push(...(await this.#walkLanes(tx, queue, seen, first.chooser, wanted, condition)));
    }
    if (looks.length === before) return first;
    return fitting(await readUsage(tx, this.#db, this.#t, limitedBy(looks), closed));
  }

  #windows(tx: Sql, queues: string[], window: number, condition: string): Promise<Look[]> {
    const { text, params } = unite(
      queues.map((queue) => ({
        text: `select ${LOOK} from ${this.#t.runs}${this.#db.using(this.#t.runs, "ready")}
                where state = 1 and limited = 1 and owner is null and queue = ?${condition}
                order by priority, run_at, id limit ${window}`,
        params: [queue],
      })),
    );
    return tx.all<Look>(text, ...params);
  }

  /** Further runs of lanes that are not known to be closed. */
  async #walkLanes(
    tx: Sql,
    queue: string,
    seen: Look[],
    chooser: Chooser,
    wanted: number,
    condition: string,
  ): Promise<Look[]> {
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
        text: `select ${LOOK} from ${this.#t.runs}${this.#db.using(this.#t.runs, "lanes")}
                where state = 1 and limited = 1 and owner is null and queue = ? and priority = ? and lane = ?${condition}
                order by run_at, id limit ?`,
        params: [queue, priority, lane, (inLane.get(lane)?.length ?? 0) + Math.min(wanted, PER_LANE)],
      })),
    );
    const known = new Set(seen.map(({ id }) => id));
    return (await tx.all<Look>(text, ...params)).filter(({ id }) => !known.has(id));
  }

  /** Those of which every gate could be had. */
  async #lockGates(tx: Sql, looks: Look[], gatesOf: (look: Look) => string[]): Promise<Look[]> {
    const stripes = new Map(looks.map((look) => [look, gatesOf(look).map(stripeOf)]));
    const needed = [...new Set([...stripes.values()].flat())];
    if (needed.length === 0) return looks;
    const rows = await tx.all<{ id: number }>(
      `select id from ${this.#t.gates} where id in (${marks(needed)}) order by id${this.#db.skipLocked}`,
      ...needed,
    );
    const had = new Set(rows.map(({ id }) => id));
    return looks.filter((look) => stripes.get(look)!.every((stripe) => had.has(stripe)));
  }

  async #load(tx: Sql, chosen: Look[]): Promise<Row[]> {
    const columns = COLUMNS.split(", ").map((column) => `r.${column}`);
    return tx.all<Row>(
      `select ${columns.join(", ")} from ${this.#db.lookUp(this.#db.rows({ id: "integer" }), this.#t.runs)}
        where r.state = 1${this.#db.lockOnly(this.#db.skipLocked, "r")}`,
      JSON.stringify(chosen.map(({ id }) => [id])),
    );
  }
}

/** Those that can take the place of one that was freed: under the very same limits, each in a place of its own. */
function inherit(chosen: Look[], freed: Candidate[]): Set<Look> {
  const placeOf = ({ name, lane, queue }: Candidate) => JSON.stringify([name, lane, queue]);
  const places = Map.groupBy(freed, placeOf);
  return new Set(chosen.filter((look) => places.get(placeOf(look))?.pop()));
}

function inOrderOf(looks: Look[], rows: Row[]): Row[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return looks.flatMap(({ id }) => byId.get(id) ?? []);
}
