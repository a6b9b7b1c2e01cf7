/** Types and runs for tests of single parts, without a database. */
import { defineJob } from "@jobforge/sdk-ts";
import { HandledType } from "../../src/handled-type.ts";
import { Run } from "../../src/running/run.ts";

/** A type without a cap, with a handler that does nothing. */
export function typeCalled(name: string): HandledType {
  return new HandledType(
    defineJob({ type: name }).handle(() => undefined),
    undefined,
    10,
  );
}

/** A run of that type. `at` is when its job was claimed. */
export function runOf(type: HandledType, id: string, { tenant = "t", priority = 0, at = 0 } = {}): Run {
  const job = {
    id,
    tenant_id: tenant,
    type: type.name,
    payload: {},
    priority,
    attempts: 1,
    max_attempts: 5,
    run_at: "",
    created_at: "",
    trace_id: "",
  };
  return new Run(job, type, at);
}
