/** Which queues a worker serves. */
export interface QueueSelection {
  /** Null: all, but for those left out. */
  queues: string[] | null;
  /** Those it leaves out. */
  exceptQueues: string[];
}

export function serves({ queues, exceptQueues }: QueueSelection, queue: string): boolean {
  return (queues === null || queues.includes(queue)) && !exceptQueues.includes(queue);
}
