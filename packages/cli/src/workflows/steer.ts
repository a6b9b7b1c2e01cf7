/** `jobforge workflows cancel`, `retry` and `signal`: steer one workflow. */
import { WorkflowNotRunningError } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import type { Connection } from "../connection.ts";
import { CommandError, exitCodes } from "../failures.ts";
import { readPayload } from "../jobs/payload.ts";
import { plain } from "../output/terminal.ts";
import { ago, collect, count, readText } from "../output/values.ts";
import { findWorkflow, type OneOptions, ofOne } from "./find.ts";

interface CancelOptions extends OneOptions {
  readonly reason?: string;
}

export function cancelCommand(workflows: Command, cli: Cli): void {
  ofOne(
    addCommand(workflows, "cancel <id>", {
      summary: "Cancel a workflow",
      details:
        "Queued jobs are canceled at once, running jobs are asked to stop, and only steps for cleanup start.",
      examples: ['jobforge workflows cancel 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 --reason "not needed"'],
    }),
  )
    .option("--reason <text>", "why, for people; it is stored with the workflow", readText)
    .action(
      action(cli, (id: string, options: CancelOptions) =>
        connected(cli, options, async (connection, output) => {
          const { tenantId } = await findWorkflow(connection, id, options.tenant);
          const canceled = await connection.forge.workflows
            .cancel(id, { tenantId, reason: options.reason })
            .catch((error: unknown) => refused(connection, error, id, tenantId));
          output.result(
            canceled,
            () =>
              `${id} is canceled: ${count(canceled.canceled, "queued job")} canceled, ` +
              `${count(canceled.requested, "running job")} asked to stop.\n`,
          );
          return exitCodes.ok;
        }),
      ),
    );
}

interface RetryOptions extends OneOptions {
  readonly step?: string[];
  readonly downstream?: boolean;
  readonly reset?: boolean;
}

export function retryCommand(workflows: Command, cli: Cli): void {
  ofOne(
    addCommand(workflows, "retry <id>", {
      summary: "Run what ended badly in a workflow again",
      details:
        "Steps that succeeded keep their results, and what was canceled because of a bad end runs, too.",
      examples: [
        "jobforge workflows retry 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10",
        "jobforge workflows retry 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 --step each[17] --downstream",
      ],
    }),
  )
    .option("--step <path>", "only this step; repeat the option or separate steps by commas", collect)
    .option("--downstream", "also run again what followed the steps")
    .option("--reset", "handlers with durable steps begin anew, without their checkpoints")
    .action(
      action(cli, (id: string, options: RetryOptions) =>
        connected(cli, options, async (connection, output) => {
          const { tenantId } = await findWorkflow(connection, id, options.tenant);
          const { step: steps, downstream, reset } = options;
          const retried = await connection.forge.workflows.retry(id, { tenantId, steps, downstream, reset });
          output.result(
            retried,
            () =>
              `${id}: ${count(retried.retried, "step")} started again, ${retried.blocked} wait for these.\n`,
          );
          return exitCodes.ok;
        }),
      ),
    );
}

interface SignalOptions extends OneOptions {
  readonly key?: string;
}

export function signalCommand(workflows: Command, cli: Cli): void {
  ofOne(
    addCommand(workflows, "signal <id> <name> [payload]", {
      summary: "Send a signal to a workflow, such as an approval",
      details: "The payload is JSON, @file, or - for standard input. A signal is kept until a step takes it.",
      examples: [`jobforge workflows signal 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 approve '{"by": "ada"}'`],
    }),
  )
    .option("--key <key>", "send the signal only if none with this name and key was sent", readText)
    .action(
      action(cli, async (id: string, name: string, given: string | undefined, options: SignalOptions) => {
        const payload = given === undefined ? undefined : await readPayload(cli, given);
        return await connected(cli, options, async (connection, output) => {
          const { tenantId } = await findWorkflow(connection, id, options.tenant);
          const sent = await connection.forge.workflows
            .signal(id, name, payload, { tenantId, key: options.key })
            .catch((error: unknown) => refused(connection, error, id, tenantId));
          output.result(sent, () =>
            sent.outcome === "created"
              ? `${plain(name)} was sent to ${id}.\n`
              : `${plain(name)} was sent to ${id} before, with this key.\n`,
          );
          return exitCodes.ok;
        });
      }),
    );
}

/** Says how the workflow ended: the kernel refuses to change it. */
async function refused(connection: Connection, error: unknown, id: string, tenantId: string): Promise<never> {
  if (!(error instanceof WorkflowNotRunningError)) throw error;
  const { status, finishedAt } = await findWorkflow(connection, id, tenantId);
  throw new CommandError(
    error.kind ?? "refused",
    `${id} has ended: ${status} ${ago(finishedAt)}.`,
    "Start a new one, or retry it if it has failed.",
  );
}
