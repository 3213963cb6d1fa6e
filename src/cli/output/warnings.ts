/** Codes and types of Node's warnings that users of the command line need not act on. */
const DROPPED = ["MODULE_TYPELESS_PACKAGE_JSON", "ExperimentalWarning"];

/** Suppresses these warnings in this process. */
export function dropWarnings(): void {
  const { emitWarning } = process;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    const [options] = rest as [{ type?: string; code?: string } | string | undefined];
    const told = typeof options === "object" && options !== null ? [options.type, options.code] : rest;
    const name = typeof warning === "string" ? [] : [warning.name];
    if ([...told, ...name].some((one) => DROPPED.includes(one as string))) return;
    (emitWarning as (...args: unknown[]) => void).call(process, warning, ...rest);
  }) as typeof process.emitWarning;
}
