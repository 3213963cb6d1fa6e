import { constants } from "node:os";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** First signal: stop. Second: stop now. Third: exit. Returns how to stop listening. */
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

/** What a worker that was told to stop says of its runs. */
export function ending(running: number): string {
  if (running === 0) return "nothing is running: ending";
  return running === 1
    ? "finishing 1 run; once more to abort it"
    : `finishing ${running} runs; once more to abort them`;
}
