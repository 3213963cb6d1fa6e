import { PunctualError } from "../errors.ts";
import { closeNames } from "../validate/names.ts";
import type { AdHoc } from "./adhoc.ts";
import type { Definition } from "./definition.ts";
import {
  type ClassMethod,
  hasMethod,
  isAnonymous,
  isClass,
  isClassMethod,
  type JobClass,
  methodsOf,
  nameOf,
} from "./handlers.ts";
import type { Place } from "./place.ts";

/** The jobs that one instance defines, the names it declares, and the functions it has dispatched. */
export class Registry {
  readonly #definitions = new Map<string, Definition<never>>();
  #hasFresh = false;
  readonly #replaced = new Set<string>();
  readonly #warn: (message: string) => void;
  readonly #declared = new Set<string>();
  readonly #classes = new Map<string, JobClass>();
  /** Defines a method of a class, on the instance that this is the registry of. */
  defineMethod: ((method: ClassMethod) => Definition<never>) | null = null;
  readonly #adHoc = new Map<string, AdHoc>();

  constructor(warn: (message: string) => void = () => {}) {
    this.#warn = warn;
  }

  /**
   * Replaces an implicit definition, and one of an earlier evaluation of the same module. Returns whether the caller must
   * look at `fresh()` when the turn ends: true for the first definition of a turn.
   */
  define(definition: Definition<never>): boolean {
    const { name, place } = definition;
    const known = this.#definitions.get(name);
    if (known && !known.isImplicit) {
      if (!this.#isEvaluatedAgain(known, definition)) throw duplicate(known);
      this.#warnOnce(name, place);
    }
    this.#definitions.set(name, definition);
    const isFirst = !this.#hasFresh && !definition.isKnown;
    this.#hasFresh ||= isFirst;
    return isFirst;
  }

  /** A dev server evaluates a module again in the same process after an edit, and its lines may have moved. */
  #isEvaluatedAgain(known: Definition<never>, { place }: Definition<never>): boolean {
    return known.isSealed && place?.file != null && known.place?.file === place.file;
  }

  #warnOnce(name: string, place: Place | null): void {
    if (this.#replaced.has(name)) return;
    this.#replaced.add(name);
    this.#warn(
      `job "${name}" was defined again, at ${place}: the new definition replaces the earlier one of the same file. A dev server does so after an edit; elsewhere call define() once, when the program loads`,
    );
  }

  /** Puts these in the place of all that are defined. */
  replaceAll(definitions: Iterable<Definition<never>>): void {
    this.#definitions.clear();
    for (const definition of definitions) this.#definitions.set(definition.name, definition);
  }

  /** The definition of a job. A method of a known class is defined when its name is first asked for. */
  definition(name: string): Definition<never> | undefined {
    return this.#definitions.get(name) ?? this.#definitionOfMethod(name);
  }

  #definitionOfMethod(name: string): Definition<never> | undefined {
    if (this.#classes.size === 0 || this.defineMethod === null) return undefined;
    const dot = name.lastIndexOf(".");
    const jobClass = dot < 1 ? undefined : this.#classes.get(name.slice(0, dot));
    const method = name.slice(dot + 1);
    return jobClass && hasMethod(jobClass, method) ? this.defineMethod([jobClass, method]) : undefined;
  }

  definitions(): IterableIterator<Definition<never>> {
    return this.#definitions.values();
  }

  /** Definitions that no registry has given out here before. Not kept in a list: as it grew it would leave much garbage. */
  *fresh(): Generator<Definition<never>> {
    this.#hasFresh = false;
    for (const definition of this.#definitions.values()) {
      if (definition.isKnown) continue;
      definition.isKnown = true;
      yield definition;
    }
  }

  /** Something of each definition. The list has its length from the start, for the same reason. */
  fromEach<Made>(make: (definition: Definition<never>) => Made): Made[] {
    const list = new Array<Made>(this.#definitions.size);
    let index = 0;
    for (const definition of this.#definitions.values()) list[index++] = make(definition);
    return list;
  }

  /** A class whose methods may be jobs: another process may dispatch `[Class, "method"]`. */
  know(target: unknown): void {
    const jobClass = isClassMethod(target) ? target[0] : isClass(target) ? target : null;
    if (jobClass !== null && !isAnonymous(jobClass)) this.#classes.set(nameOf(jobClass), jobClass);
  }

  /** Names of the jobs that methods of known classes would be. */
  methods(): string[] {
    return [...this.#classes].flatMap(([name, jobClass]) =>
      methodsOf(jobClass).map((method) => `${name}.${method}`),
    );
  }

  /** Takes over the names and classes of another. */
  take(other: Registry): void {
    for (const name of other.#declared) this.#declared.add(name);
    for (const [name, jobClass] of other.#classes) this.#classes.set(name, jobClass);
  }

  declare(name: string): void {
    this.#declared.add(name);
  }

  declared(): IterableIterator<string> {
    return this.#declared.values();
  }

  isDeclared(name: string): boolean {
    return this.#declared.has(name);
  }

  /** Refuses a function under the name of a job. */
  checkAdHoc(name: string): void {
    if (!this.#definitions.has(name)) return;
    throw new PunctualError(
      "DUPLICATE_JOB",
      `Job "${name}" is defined already, so it cannot be dispatched with a function of its own. Leave the function out, or use another name.`,
    );
  }

  addAdHoc(adHoc: AdHoc): void {
    if (!adHoc.borrowed) this.checkAdHoc(adHoc.name);
    this.#adHoc.set(adHoc.lane, adHoc);
  }

  adHocs(): IterableIterator<AdHoc> {
    return this.#adHoc.values();
  }

  adHoc(lane: string): AdHoc | undefined {
    return this.#adHoc.get(lane);
  }

  /** Returns the job or the function that a run calls. */
  handlerOf(run: {
    name: string;
    lane: string;
    owner: string | null;
  }): Definition<never> | AdHoc | undefined {
    return run.owner === null ? this.definition(run.name) : this.adHoc(run.lane);
  }

  forgetAdHoc(lane: string): void {
    this.#adHoc.delete(lane);
  }

  hasAdHoc(): boolean {
    return this.#adHoc.size > 0;
  }

  /** The error for a name that neither this instance nor the database knows. */
  unknown(name: string, inDatabase: string[]): PunctualError {
    const close = closeNames(name, new Set([...this.#definitions.keys(), ...this.#declared, ...inDatabase]));
    const hint = close.length > 0 ? ` Did you mean ${close.map((one) => `"${one}"`).join(" or ")}?` : "";
    return new PunctualError(
      "UNKNOWN_JOB",
      `Job "${name}" is neither defined nor declared here, and the database does not know it.${hint} ` +
        "If another program defines it, call declare() with its name.",
    );
  }
}

function duplicate({ name, place }: Definition<never>): PunctualError {
  const where = place?.file == null ? "" : `, at ${place}`;
  return new PunctualError(
    "DUPLICATE_JOB",
    `Job "${name}" is defined already${where}. Give the second one another name; one job may be dispatched as often as you like.`,
  );
}
