/** The default metrics of prom-client for the process: processor, memory, event loop and garbage collection. */
import { collectDefaultMetrics, Registry } from "prom-client";

let registry: Registry | undefined;

/** Returns one registry for the whole process, however many servers it has, because its observers cannot be removed. */
export function processMetrics(): Registry {
  if (registry === undefined) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
  }
  return registry;
}
