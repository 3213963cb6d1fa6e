import { constants } from "node:os";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Calls `stop` at the first signal, `stopNow` at the second, and exits at the third. Returns a function that stops
 * listening.
 */
export function onSignals(levels: { stop(signal: string): void; stopNow(): void; exit(): void }): () => void {
  let received = 0;
  const listeners = SIGNALS.map((signal) => {
    const listener = () => {
      received++;
      if (received === 1) levels.stop(signal);
      else if (received === 2) levels.stopNow();
      else {
        levels.exit();
        process.exit(128 + constants.signals[signal]);
      }
    };
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  return () => {
    for (const off of listeners) off();
  };
}

/** The log line of a worker that a signal stops. */
export function stopMessage(running: number): string {
  if (running === 0) return "nothing is running; stopping";
  return running === 1
    ? "finishing 1 run; repeat the signal to abort it"
    : `finishing ${running} runs; repeat the signal to abort them`;
}
