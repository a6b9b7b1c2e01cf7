/** What every contender offers. Each runs in a process of its own, so that none slows another down. */
export interface QueueContender {
  /** Makes its tables. */
  prepare(): Promise<void>;
  /** Puts jobs that do nothing into the queue, in bulk. */
  enqueue(count: number): Promise<void>;
  /** Starts one worker with its best settings; answers how to stop it, all ends written. */
  start(onJob: () => void): Promise<() => Promise<void>>;
  /** How an application sends one job. */
  sender(): Promise<{ send(): Promise<void>; close(): Promise<void> | void }>;
}
