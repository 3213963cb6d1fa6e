import { LAST, laneOf } from "../../run/lanes.ts";
import { type Candidate, Chooser, type Usage } from "../chooser.ts";
import { COLUMNS, LOOK, type Look, type Row, WINDOW } from "../sql/claim.ts";
import { marks, type ServerDatabase, type Sql, type Tables } from "../sql/database.ts";
import type { Order } from "../sql/order.ts";
import { readArms } from "./arms.ts";
import { stripeOf } from "./stripes.ts";
import { type Limited, limitedBy, readUsage, type Scope } from "./usage.ts";

/** Lanes that one step of a walk reads. */
const LANES = 64;

/** Steps of one claim. A walk that needs more goes on in the next claim, which follows at once if nothing was found. */
const STEPS = 8;

/** How many runs of one lane are looked at beyond those already seen. */
const PER_LANE = 16;

/** Where something fits, one looks farther by every so many claims only. */
const FAR_EVERY = 4;

/** How many runs of a queue are looked at where of very many only some of the first could be had the last time. */
const NEAR = 12;

type Place = { priority: number; lane: string };

const START: Place = { priority: -(2 ** 31), lane: "" };

/** Where the walk over the lanes of a queue stands. */
interface Walk {
  at: Place;
  /** Whether it goes on to the last lane only: everything behind `at` was seen, or nothing is behind it. */
  isLast: boolean;
}

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

/** What one step of a walk goes by. */
interface WalkStep {
  queue: string;
  /** Runs of the queue that were looked at. */
  seen: Look[];
  chooser: Chooser;
  /** What the lanes of jobs begin with that can have no run taken. */
  shut: string[];
  wanted: number;
  claimable: string;
}

export interface Choice {
  rows: Row[];
  /** Others held a gate of something that would have fitted. */
  lost: boolean;
  /** Nothing was found yet, and not every lane was seen. */
  more: boolean;
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
  readonly #walks = new Map<string, Walk>();
  /** Of the runs seen last: their limits are asked for before it is known that it is them again. */
  #last: Limited | null = null;

  constructor(db: ServerDatabase, tables: Tables) {
    this.#db = db;
    this.#t = tables;
  }

  /** The first runs of each queue. */
  async look(tx: Sql, queues: string[], scope: Scope, claimable: string): Promise<Sight | null> {
    if (queues.length === 0) return null;
    const guess = this.#last;
    const far = ++this.#looks % FAR_EVERY === 0;
    const window = this.#isNear && !far ? NEAR : WINDOW;
    const [looks, usage] = await Promise.all([
      this.#windows(tx, queues, window, claimable),
      guess && readUsage(tx, this.#db, this.#t, guess, scope),
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
      usage: (guessed && usage) || (await readUsage(tx, this.#db, this.#t, limited, scope)),
      claimable,
      window,
      far,
    };
  }

  /** `freed`: what this transaction has settled. */
  async choose(
    tx: Sql,
    sight: Sight,
    scope: Scope,
    order: Order,
    wanted: number,
    freed: Candidate[],
  ): Promise<Choice> {
    const { chosen, chooser, more } = await this.#pick(tx, sight, scope, order, wanted);
    if (chosen.length === 0) return { rows: [], lost: false, more };
    const heirs = inherit(chosen, freed);
    if (heirs.size === chosen.length) {
      return { rows: inOrderOf(chosen, await this.#load(tx, chosen), chooser), lost: false, more };
    }
    const gated = chosen.filter((look) => !heirs.has(look));
    const open = new Set([...heirs, ...(await this.#lockGates(tx, gated, (look) => chooser.gates(look)))]);
    const lost = open.size < chosen.length;
    if (open.size === 0) return { rows: [], lost, more };
    const [usage, rows] = await Promise.all([
      readUsage(tx, this.#db, this.#t, limitedBy([...open]), scope),
      this.#load(tx, [...open]),
    ]);
    const recounted = new Chooser(usage);
    // A limit that came up in between has a gate of its own, which is not locked: its turn is the next claim.
    const asBefore = (look: Look) => recounted.gates(look).join() === chooser.gates(look).join();
    const loaded = new Set(rows.map(({ id }) => id));
    const fits = (look: Look) => loaded.has(look.id) && asBefore(look) && recounted.take(look);
    const sure = [...open].filter(fits);
    return { rows: inOrderOf(sure, rows, recounted), lost, more };
  }

  /** First the best of each queue in order, then, where closed lanes fill the view, lane by lane. */
  async #pick(
    tx: Sql,
    { looks, usage, claimable, window, far }: Sight,
    scope: Scope,
    order: Order,
    wanted: number,
  ): Promise<{ chosen: Look[]; chooser: Chooser; more: boolean }> {
    const fitting = (used: Usage) => {
      const chooser = new Chooser(used);
      const open = new Set<string>();
      if (order.hasShares) for (const look of looks) if (chooser.hasRoom(look)) open.add(look.queue);
      const chosen = order.pick(looks, wanted, (look) => chooser.take(look));
      return { chosen, chooser, open, more: false };
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
      const more = await this.#windows(tx, [...inQueue.keys()], WINDOW, claimable);
      const used = await readUsage(tx, this.#db, this.#t, limitedBy(more), scope);
      const wider = { looks: more, usage: used, claimable, window: WINDOW, far };
      return this.#pick(tx, wider, scope, order, wanted);
    }
    let picked = first;
    let walking = full.map(([queue]) => queue).filter((queue) => !first.chooser.isQueueFull(queue));
    for (let step = 0; walking.length > 0 && (step === 0 || picked.chosen.length === 0); step++) {
      if (step === STEPS) return { ...picked, more: true };
      const before = looks.length;
      const shut = await this.#shutJobs(tx, looks, picked.chooser);
      const unfinished: string[] = [];
      for (const queue of walking) {
        const seen = looks.filter((look) => look.queue === queue);
        const step = { queue, seen, chooser: picked.chooser, shut, wanted, claimable };
        const { found, isOver } = await this.#walkLanes(tx, step);
        looks.push(...found);
        if (!isOver) unfinished.push(queue);
      }
      walking = unfinished;
      if (looks.length > before)
        picked = fitting(await readUsage(tx, this.#db, this.#t, limitedBy(looks), scope));
    }
    for (const { queue } of picked.chosen) {
      const walk = this.#walks.get(queue);
      if (walk) walk.isLast = false;
    }
    return picked;
  }

  async #windows(tx: Sql, queues: string[], window: number, claimable: string): Promise<Look[]> {
    const arms = queues.map((queue) => ({
      text: `select ${LOOK} from ${this.#t.runs}${this.#db.using(this.#t.runs, "ready")}
              where state = 1 and limited = 1 and owner is null and queue = ?${claimable}
              order by priority, run_at, id limit ${window}`,
      params: [queue],
    }));
    return readArms<Look>(tx, arms);
  }

  /**
   * What the lanes of each job begin with that can have no run taken, whatever its key. A job whose name another one
   * continues after the bar is left out: their lanes mix.
   */
  async #shutJobs(tx: Sql, looks: Look[], chooser: Chooser): Promise<string[]> {
    const full = looks.filter((look) => chooser.isFull(look)).map(({ name }) => name);
    const lanes = [...new Set(full)].map((name) => [laneOf(name, null), laneOf(name, LAST)]);
    if (lanes.length === 0) return [];
    const rows = await tx.all<{ name: string; other: string | null }>(
      `select v.name, (select min(j.name) from ${this.#t.jobs} j where j.name >= v.name and j.name <= v.last) as other
         from ${this.#db.rows({ name: "text", last: "text" })} v`,
      JSON.stringify(lanes),
    );
    return rows.filter(({ other }) => other === null).map(({ name }) => name);
  }

  /** Further runs of lanes that are not known to be closed. The lanes of a job that is shut are one step. */
  async #walkLanes(
    tx: Sql,
    { queue, seen, chooser, shut, wanted, claimable }: WalkStep,
  ): Promise<{ found: Look[]; isOver: boolean }> {
    const walk = this.#walks.get(queue) ?? { at: START, isLast: true };
    this.#walks.set(queue, walk);
    const heads = this.#db.readyLanes(this.#t, queue, walk.at, LANES);
    const walked = await tx.all<Place>(heads.text, ...heads.params);
    const inLane = Map.groupBy(seen, ({ lane }) => lane);
    const lanes: Place[] = [];
    let isEnd = walked.length < LANES;
    for (const head of walked) {
      walk.at = head;
      const prefix = shut.find((lane) => head.lane.startsWith(lane));
      if (prefix !== undefined) {
        walk.at = { priority: head.priority, lane: prefix + LAST };
        isEnd = false;
        break;
      }
      if (inLane.get(head.lane)?.some((look) => chooser.hasRoom(look)) ?? true) lanes.push(head);
    }
    const isOver = isEnd && walk.isLast;
    if (isOver) this.#walks.delete(queue);
    else if (isEnd) this.#walks.set(queue, { at: START, isLast: true });
    const arms = lanes.map(({ priority, lane }) => ({
      text: `select ${LOOK} from ${this.#t.runs}${this.#db.using(this.#t.runs, "lanes")}
              where state = 1 and limited = 1 and owner is null and queue = ? and priority = ? and lane = ?${claimable}
              order by run_at, id limit ?`,
      params: [queue, priority, lane, (inLane.get(lane)?.length ?? 0) + Math.min(wanted, PER_LANE)],
    }));
    const known = new Set(seen.map(({ id }) => id));
    const found = (await readArms<Look>(tx, arms)).filter(({ id }) => !known.has(id));
    return { found, isOver };
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

function inOrderOf(looks: Look[], rows: Row[], chooser: Chooser): Row[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return looks.flatMap((look) => {
    const row = byId.get(look.id);
    return row ? [{ ...row, unkeyed: chooser.lacksKey(look) }] : [];
  });
}
