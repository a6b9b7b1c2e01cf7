/** Waiting until a workflow has ended. */

import { askFor, type DoneSignals, type WaitOptions, waitForEnd, whileWaiting } from "../jobs/wait.ts";
import { fromRow, fromRows } from "../rows.ts";
import { WorkflowCanceledError, WorkflowFailedError, WorkflowNotFoundError } from "../sdk-errors.ts";
import type { Transport } from "../transport/transport.ts";
import type { WorkflowDefinition, WorkflowOutput } from "./definition.ts";
import type { FailedStep, WorkflowDetails, WorkflowReference, WorkflowWait } from "./workflow.ts";

/** What jobforge_get_workflow returns. */
export interface DetailsRow {
  readonly waits?: readonly object[] | null;
  readonly failed?: readonly object[] | null;
}

export function readDetails<W extends WorkflowDefinition>(
  row: DetailsRow | null,
): WorkflowDetails<W> | undefined {
  if (row === null) return undefined;
  return {
    ...fromRow<WorkflowDetails<W>>(row),
    waits: fromRows<WorkflowWait>(row.waits ?? []),
    failed: fromRows<FailedStep>(row.failed ?? []),
  };
}

/** The output of the workflow if it succeeds. Otherwise rejects with a WorkflowFailedError or WorkflowCanceledError. */
export async function waitForWorkflow<W extends WorkflowDefinition>(
  transport: Transport,
  signals: DoneSignals,
  waiting: WaitOptions & WorkflowReference<W> & { readonly id: string },
): Promise<WorkflowOutput<W>> {
  const { id, tenantId } = waiting;
  return await whileWaiting(waiting, "Workflow", async (stop) => {
    const ask = askFor(transport, { p_workflow_id: id, p_tenant_id: tenantId }, stop);
    const watchOf = askFor(transport, { p_job_id: id, p_tenant_id: tenantId }, stop);
    const look = async (): Promise<WorkflowDetails<W>> => {
      const details = readDetails<W>(await ask<DetailsRow | null>("jobforge_get_workflow"));
      if (details === undefined) throw new WorkflowNotFoundError(id);
      return details;
    };
    const watch = async (): Promise<void> => await watchOf("jobforge_watch_job");
    const ended = await waitForEnd({ look, watch }, signals, id, stop);
    if (ended.status === "succeeded") return ended.output as WorkflowOutput<W>;
    throw ended.status === "canceled" ? new WorkflowCanceledError(ended) : new WorkflowFailedError(ended);
  });
}
