/** Metrics of the process, as prom-client names them: processor, memory, event loop, garbage collection. */
import { collectDefaultMetrics, Registry } from "prom-client";

let registry: Registry | undefined;

/** One for the process, however many servers it has: what it watches with cannot be taken away again. */
export function processMetrics(): Registry {
  if (registry === undefined) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
  }
  return registry;
}
