/**
 * Which handler call the code that runs now belongs to. Node follows timers and promises, so an uncaught error can be
 * traced to its job. That makes promises a little slower before Node 24, so only workers that handle crashes do it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { WorkerLog } from "../reporting/log.ts";
import type { Run } from "./run.ts";

export interface HandlerCall {
  /** Several if it is one call for a batch. */
  readonly runs: readonly Run[];
  readonly log: WorkerLog;
}

const storage = new AsyncLocalStorage<HandlerCall>();

/** Calls a handler. */
export function callAs<Result>(call: HandlerCall, work: () => Result): Result {
  return storage.run(call, work);
}

/** The handler call that started the code that runs now; undefined if that is other code of the application. */
export function currentCall(): HandlerCall | undefined {
  return storage.getStore();
}
