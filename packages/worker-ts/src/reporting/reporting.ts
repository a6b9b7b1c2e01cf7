/** The parts with which a worker reports what it does. */
import type { Settings } from "../options.ts";
import { Hooks } from "./hooks.ts";
import { defaultLogger, WorkerLog } from "./log.ts";
import { Meter } from "./meter.ts";
import { Report } from "./report.ts";
import { findTracer, Spans } from "./trace.ts";

export interface Reporting {
  readonly log: WorkerLog;
  readonly hooks: Hooks;
  readonly meter: Meter;
  readonly report: Report;
  readonly spans: Spans;
}

export function makeReporting({ id, logger, logStacks, hooks: functions }: Settings): Reporting {
  const log = new WorkerLog(logger ?? defaultLogger(), id, logStacks);
  const hooks = new Hooks(functions, log, id);
  const meter = new Meter();
  return {
    log,
    hooks,
    meter,
    report: new Report(log, hooks, meter.runs),
    spans: new Spans(findTracer(), log),
  };
}
