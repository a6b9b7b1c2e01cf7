/** Workflows and their steps. */
import { z } from "@hono/zod-openapi";
import {
  bounds,
  failureActions,
  needPolicies,
  resolutions,
  startOutcomes,
  stepKinds,
  stepStatuses,
  timeoutActions,
  workflowStatuses,
} from "@jobforge/sdk-ts";
import {
  Count,
  Id,
  integerWithin,
  Json,
  Key,
  MaxAttempts,
  Milliseconds,
  Priority,
  Subject,
  Tags,
  TenantLabel,
  Time,
  Type,
  textWithin,
} from "./basic.ts";
import { limitParameter, several, tenantParameter } from "./parameters.ts";

const Name = textWithin(bounds.workflowNameBytes).openapi({ example: "call.process" });
const StepName = textWithin(bounds.stepNameBytes).openapi({ example: "extract" });
const Path = z.string().openapi({
  description: "Its name in the whole workflow, such as `each[17]` or `sub/send`",
  example: "extract",
});

const Need = z.union([StepName, z.strictObject({ step: StepName, policy: z.enum(needPolicies).optional() })]);

/** A step runs a job of a type, or one for each item of a list, waits for a signal, or has steps of its own. */
const NewStep = z
  .strictObject({
    name: StepName,
    type: Type.optional(),
    payload: Json.optional(),
    map: z.strictObject({ over: Json }).optional(),
    signal: z
      .strictObject({
        name: Key.optional(),
        timeout_ms: Milliseconds.optional(),
        on_timeout: z.enum(timeoutActions).optional(),
      })
      .optional(),
    steps: z
      .array(z.looseObject({ name: StepName }))
      .optional()
      .openapi({
        description: "A sub-workflow: steps of the same form",
      }),
    output: Json.optional(),
    needs: z.array(Need).optional(),
    delay_ms: Milliseconds.optional(),
    optional: z.boolean().optional(),
    cleanup: z.boolean().optional(),
    max_attempts: MaxAttempts.optional(),
    priority: Priority.optional(),
    tags: Tags.optional(),
    subject: Subject.optional(),
    concurrency_key: Key.optional(),
    expires_at: Time.optional(),
  })
  .openapi("NewStep");

export const NewWorkflow = z
  .strictObject({
    name: Name,
    steps: z.array(NewStep).min(1),
    input: Json.optional(),
    output: Json.optional(),
    version: z.string().max(200).optional(),
    idempotency_key: Key.optional(),
    dedupe_key: Key.optional(),
    run_at: Time.optional(),
    deadline: Time.optional(),
    timeout_ms: Milliseconds.optional(),
    expires_at: Time.optional(),
    priority: Priority.optional(),
    tags: Tags.optional(),
    subject: Subject.optional(),
    on_failure: z.enum(failureActions).optional(),
    retention_days: integerWithin(bounds.retentionDays).optional(),
  })
  .openapi("NewWorkflow");

export const StartedWorkflow = z
  .looseObject({
    id: Id,
    outcome: z.enum(startOutcomes),
    status: z.enum(workflowStatuses),
    steps: z.record(z.string(), Id).openapi({ description: "The ids of the steps, by name" }),
  })
  .openapi("StartedWorkflow");

/** Has the columns of the view. Newer kernels append columns. */
export const Workflow = z
  .looseObject({
    id: Id,
    tenant_id: Id,
    tenant_label: TenantLabel,
    name: z.string(),
    version: z.string().nullable(),
    status: z.enum(workflowStatuses),
    reason: z.string().nullable(),
    input: Json,
    output: Json,
    idempotency_key: z.string().nullable(),
    dedupe_key: z.string().nullable(),
    subject: z.string().nullable(),
    tags: z.array(z.string()),
    priority: z.int(),
    created_at: Time,
    finished_at: Time.nullable(),
    deadline: Time.nullable(),
    on_failure: z.enum(failureActions),
    cancel_at: Time.nullable(),
    cancel_by: z.string().nullable(),
    cancel_reason: z.string().nullable(),
    retention_days: z.int(),
    traceparent: z.string().nullable(),
    step_count: Count,
    parent_id: Id.nullable().openapi({ description: "The job whose handler started it and waits for it" }),
  })
  .openapi("Workflow");

export const WorkflowDetails = Workflow.extend({
  counts: z.record(z.string(), Count).openapi({ description: "How many steps have each status" }),
  waits: z
    .array(z.looseObject({ step: Path, signal: z.string(), since: Time, until: Time.optional() }))
    .openapi({ description: "The signals that the workflow waits for" }),
  failed: z
    .array(z.looseObject({ step: Path, status: z.enum(stepStatuses), reason: z.string().nullable() }))
    .openapi({ description: "Up to 10 steps that ended badly" }),
}).openapi("WorkflowDetails");

export const Step = z
  .looseObject({
    id: Id,
    workflow_id: Id,
    group_id: Id.nullable(),
    tenant_id: Id,
    path: Path,
    name: z.string().nullable(),
    kind: z.enum(stepKinds),
    type: z.string().nullable(),
    status: z.enum(stepStatuses),
    reason: z.string().nullable(),
    needs: z.array(z.looseObject({ step: z.string(), policy: z.enum(needPolicies) })),
    job_id: Id.nullable(),
    index: z.int(),
    opened_at: Time.nullable(),
    decided_at: Time.nullable(),
    ended_at: Time.nullable(),
    payload: Json,
    result: Json,
    error: Json,
    cost_cents: z.int().nullable(),
    optional: z.boolean(),
    cleanup: z.boolean(),
  })
  .openapi("Step");

export const WorkflowQuery = z.strictObject({
  ...tenantParameter,
  ...limitParameter,
  name: Name.optional(),
  status: several(z.enum(workflowStatuses)),
  subject: Subject.optional(),
  tags: several(z.string()),
  created_after: Time.optional(),
  created_before: Time.optional(),
  cursor: Id.optional(),
});

export const StepQuery = z.strictObject({
  ...tenantParameter,
  ...limitParameter,
  status: several(z.enum(stepStatuses)),
  kind: several(z.enum(stepKinds)),
  group: z
    .string()
    .optional()
    .openapi({ description: "The path of a map or a sub-workflow: its steps only" }),
  cursor: Id.optional(),
});

export const CancelWorkflow = z.strictObject({ reason: z.string().max(1000).optional() });

export const CanceledWorkflow = z
  .looseObject({
    id: Id,
    status: z.enum(workflowStatuses),
    canceled: Count.openapi({ description: "Queued jobs that were canceled at once" }),
    requested: Count.openapi({ description: "Running jobs that were asked to stop" }),
  })
  .openapi("CanceledWorkflow");

export const RetryWorkflow = z.strictObject({
  steps: z.array(Path).optional().openapi({ description: "Default: all that ended badly" }),
  downstream: z.boolean().optional().openapi({ description: "Also run again what followed them" }),
  reset: z.boolean().optional().openapi({
    description: "Handlers with durable steps begin anew, without their checkpoints and ended children",
  }),
});

export const WorkflowChanges = z.strictObject({
  deadline: Time.nullable().optional().openapi({ description: "Null removes it" }),
  priority: Priority.optional(),
  tags: Tags.optional(),
});

export const AddSteps = z.strictObject({
  steps: z.array(NewStep).min(1).openapi({ description: "They may need steps that the workflow has" }),
});

export const AddedSteps = z
  .looseObject({
    added: Count,
    existing: Count.openapi({ description: "Steps that were there before, with the same definition" }),
  })
  .openapi("AddedSteps");

export const WorkflowBulk = z.strictObject({
  filters: z
    .strictObject({
      name: z.union([Name, z.array(Name)]).optional(),
      status: z.union([z.enum(workflowStatuses), z.array(z.enum(workflowStatuses))]).optional(),
      subject: Subject.optional(),
      tags: z.union([z.string(), z.array(z.string())]).optional(),
      created_after: Time.optional(),
      created_before: Time.optional(),
    })
    .openapi({ description: "At least one" }),
  limit: z.int().min(1).max(1000).optional().openapi({ description: "Default 100" }),
});

export const WorkflowBulkResult = z
  .looseObject({ matched: Count, changed: Count })
  .openapi("WorkflowBulkResult");

export const RetriedWorkflow = z
  .looseObject({
    id: Id,
    retried: Count.openapi({ description: "Steps that have started again" }),
    blocked: Count.openapi({ description: "Steps that wait for these" }),
  })
  .openapi("RetriedWorkflow");

export const ResolveStep = z.strictObject({
  step: Path,
  status: z.enum(resolutions),
  result: Json.optional(),
});

export const ResolvedStep = z.looseObject({ id: Id, step: Path, status: z.string() }).openapi("ResolvedStep");

export const SignalParameters = z.object({ id: Id, name: Key.openapi({ example: "approve" }) });

export const NewSignal = z.strictObject({
  payload: Json.optional(),
  key: Key.optional().openapi({ description: "A signal with the same name and key is sent only once" }),
});

export const SentSignal = z
  .looseObject({ outcome: z.enum(startOutcomes), taken: z.boolean() })
  .openapi("SentSignal");
