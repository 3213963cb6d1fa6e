/** Receives log messages: any object with these methods of `console`. */
export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Writes to standard error, because standard output belongs to the program. */
const stderrLogger: Logger = {
  debug() {},
  info: (message) => console.error(`punctual: ${message}`),
  warn: (message) => console.error(`punctual: warning: ${message}`),
  error: (message) => console.error(`punctual: error: ${message}`),
};

/** Returns a logger that never throws: a faulty logger must not end the worker. False turns logging off. */
export function toLogger(chosen: Logger | false | undefined): Logger {
  const logger = chosen === false ? silentLogger : (chosen ?? stderrLogger);
  const safely = (level: keyof Logger) => (message: string) => {
    try {
      logger[level](message);
    } catch {
      // The logger itself is broken: nothing is left to report it to.
    }
  };
  return { debug: safely("debug"), info: safely("info"), warn: safely("warn"), error: safely("error") };
}
