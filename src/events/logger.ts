/** Where Punctual writes what a person should know: anything with the methods of `console`. */
export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** To standard error, so that a program's own output stays its own. */
const terse: Logger = {
  debug() {},
  info: (message) => console.error(`punctual: ${message}`),
  warn: (message) => console.error(`punctual: warning: ${message}`),
  error: (message) => console.error(`punctual: error: ${message}`),
};

/** A logger that throws must not end the worker that wanted to tell something. */
export function toLogger(chosen: Logger | false | undefined): Logger {
  const logger = chosen === false ? silent : (chosen ?? terse);
  const safely = (level: keyof Logger) => (message: string) => {
    try {
      logger[level](message);
    } catch {
      // There is nowhere left to tell it.
    }
  };
  return { debug: safely("debug"), info: safely("info"), warn: safely("warn"), error: safely("error") };
}
