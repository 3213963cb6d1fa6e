/** The queues that a worker serves. */
export interface QueueSelection {
  /** Null: all queues except `exceptQueues`. */
  queues: string[] | null;
  exceptQueues: string[];
}

/** Whether the selection includes the queue. */
export function serves({ queues, exceptQueues }: QueueSelection, queue: string): boolean {
  return (queues === null || queues.includes(queue)) && !exceptQueues.includes(queue);
}
