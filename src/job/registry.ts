import { PunctualError } from "../errors.ts";
import { closeNames } from "../validate/names.ts";
import type { AdHoc } from "./adhoc.ts";
import type { CallSite } from "./call-site.ts";
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

/** The jobs that one instance defines, the job names it declares, and the ad hoc functions it has dispatched. */
export class Registry {
  readonly #definitions = new Map<string, Definition<never>>();
  /** Whether a definition has been added since the last `takeUnchecked()`. */
  #hasUnchecked = false;
  /** Names whose replacement has been logged. */
  readonly #replaced = new Set<string>();
  readonly #warn: (message: string) => void;
  readonly #declared = new Set<string>();
  /** Classes whose methods may be dispatched as jobs, by class name. */
  readonly #classes = new Map<string, JobClass>();
  /** Defines a method of a class as a job of the instance that owns this registry. */
  defineMethod: ((method: ClassMethod) => Definition<never>) | null = null;
  /** Ad hoc functions by the lane of their run. */
  readonly #adHoc = new Map<string, AdHoc>();

  constructor(warn: (message: string) => void = () => {}) {
    this.#warn = warn;
  }

  /**
   * Adds a definition. It may replace an implicit definition or one from an earlier evaluation of the same module; any
   * other of this name throws DUPLICATE_JOB. Returns true for the first definition of a turn: the caller must then call
   * `takeUnchecked()` when the turn ends.
   */
  define(definition: Definition<never>): boolean {
    const { name, callSite } = definition;
    const known = this.#definitions.get(name);
    if (known && !known.isImplicit) {
      if (!this.#isEvaluatedAgain(known, definition)) throw duplicate(known);
      this.#warnOnce(name, callSite);
    }
    this.#definitions.set(name, definition);
    const isFirst = !this.#hasUnchecked && !definition.isChecked;
    this.#hasUnchecked ||= isFirst;
    return isFirst;
  }

  /**
   * After an edit a dev server evaluates a module again in the same process. Lines may have moved: compares files only.
   */
  #isEvaluatedAgain(known: Definition<never>, { callSite }: Definition<never>): boolean {
    return known.isSealed && callSite?.file != null && known.callSite?.file === callSite.file;
  }

  #warnOnce(name: string, callSite: CallSite | null): void {
    if (this.#replaced.has(name)) return;
    this.#replaced.add(name);
    this.#warn(
      `job "${name}" was defined again, at ${callSite}: the new definition replaces the earlier one of the same file. This is normal for a dev server after an edit; elsewhere call define() once, when the program loads`,
    );
  }

  /** Replaces all definitions with these. */
  replaceAll(definitions: Iterable<Definition<never>>): void {
    this.#definitions.clear();
    for (const definition of definitions) this.#definitions.set(definition.name, definition);
  }

  /** Returns the definition of a job. Defines a method of a known class when its name is first looked up. */
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

  /**
   * Yields the definitions that no registry has yielded before. There is no list of them: a growing list leaves
   * garbage.
   */
  *takeUnchecked(): Generator<Definition<never>> {
    this.#hasUnchecked = false;
    for (const definition of this.#definitions.values()) {
      if (definition.isChecked) continue;
      definition.isChecked = true;
      yield definition;
    }
  }

  /** Maps every definition. The list gets its full length at once: a growing list leaves garbage. */
  fromEach<Made>(make: (definition: Definition<never>) => Made): Made[] {
    const list = new Array<Made>(this.#definitions.size);
    let index = 0;
    for (const definition of this.#definitions.values()) list[index++] = make(definition);
    return list;
  }

  /** Remembers the class of a handler: another process may dispatch any of its methods as `[Class, "method"]`. */
  know(target: unknown): void {
    const jobClass = isClassMethod(target) ? target[0] : isClass(target) ? target : null;
    if (jobClass !== null && !isAnonymous(jobClass)) this.#classes.set(nameOf(jobClass), jobClass);
  }

  /** Returns the job name of every method of a known class, such as `Mailer.send`. */
  methods(): string[] {
    return [...this.#classes].flatMap(([name, jobClass]) =>
      methodsOf(jobClass).map((method) => `${name}.${method}`),
    );
  }

  /** Copies the declared names and the classes of another registry. */
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

  /** Throws DUPLICATE_JOB if an ad hoc function has the name of a defined job. */
  checkAdHoc(name: string): void {
    if (!this.#definitions.has(name)) return;
    throw new PunctualError(
      "DUPLICATE_JOB",
      `Job "${name}" is defined already, so dispatch() takes no function for it. Leave the function out, or use another name.`,
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

  /** Returns the definition of a run's job, or the ad hoc function that the run belongs to. */
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

  /** Returns the error for a name that neither this instance nor the database has, with similar names. */
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

function duplicate({ name, callSite }: Definition<never>): PunctualError {
  const where = callSite?.file == null ? "" : `, at ${callSite}`;
  return new PunctualError(
    "DUPLICATE_JOB",
    `Job "${name}" is defined already${where}. Give the second definition another name. To run one job several times, dispatch it several times.`,
  );
}
