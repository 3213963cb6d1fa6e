/** Of Node's warnings, those that a person who types a command can do nothing about, or need not. */
const DROPPED = ["MODULE_TYPELESS_PACKAGE_JSON", "ExperimentalWarning"];

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
