/** `jobforge workflows show`: shows everything about one workflow, with the graph of its steps. */
import type { JobForge, WorkflowDetails, WorkflowStep } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes } from "../failures.ts";
import { type Redact, redactor } from "../jobs/redact.ts";
import { type Fact, factLines, tenantFact, timeFact } from "../output/facts.ts";
import type { Output } from "../output/output.ts";
import { toneOf } from "../output/style.ts";
import { plain } from "../output/terminal.ts";
import { count } from "../output/values.ts";
import { findWorkflow, type OneOptions, ofOne } from "./find.ts";
import { drawGraph } from "./graph.ts";

/** The most steps that are read, so that a workflow with 100,000 steps does not fill a terminal. */
const shownSteps = 1000;

export function showCommand(workflows: Command, cli: Cli): void {
  ofOne(
    addCommand(workflows, "show <id>", {
      summary: "Show a workflow, and draw its steps",
      details: `Of a large workflow, the first ${shownSteps} steps are shown.`,
      examples: [
        "jobforge workflows show 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10",
        "jobforge workflows show 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 --json",
      ],
    }),
  ).action(
    action(cli, (id: string, options: OneOptions) =>
      connected(cli, options, async (connection, output) => {
        const { forge } = connection;
        const found = await findWorkflow(connection, id, options.tenant);
        const redact = redactor(forge);
        const { items, cursor } = await stepsOf(forge, found, redact);
        const workflow = { ...found, input: await redactInput(found.input, items, redact) };
        output.result({ ...workflow, steps: items, moreSteps: cursor ?? null }, () =>
          describe(output, workflow, items),
        );
        if (cursor !== undefined)
          output.remark(`Only the first ${shownSteps} of ${count(found.stepCount, "step")} are shown.`);
        return exitCodes.ok;
      }),
    ),
  );
}

async function stepsOf(
  forge: JobForge,
  { id, tenantId }: WorkflowDetails,
  redact: Redact,
): Promise<{ readonly items: WorkflowStep[]; readonly cursor: string | undefined }> {
  const { items, cursor } = await forge.workflows.steps(id, { tenantId, pageSize: shownSteps }).page();
  const hidden = items.map(async (step) => ({
    ...step,
    payload: step.type === undefined ? step.payload : (await redact({ ...step, type: step.type })).payload,
  }));
  return { items: await Promise.all(hidden), cursor };
}

/** The input becomes a part of payloads, so a key that a type of its steps hides is hidden here, too. */
async function redactInput(input: unknown, steps: readonly WorkflowStep[], redact: Redact): Promise<unknown> {
  let payload = input;
  for (const type of new Set(steps.map((step) => step.type)))
    if (type !== undefined) ({ payload } = await redact({ type, payload }));
  return payload;
}

function describe(output: Output, workflow: WorkflowDetails, steps: readonly WorkflowStep[]): string {
  const { status, reason, waits, tags, cancelBy, cancelReason } = workflow;
  const counts = Object.entries(workflow.counts).map(([name, number]) => `${number} ${name}`);
  const facts: readonly Fact[] = [
    ["id", workflow.id],
    ["status", output.style(toneOf(status), reason === undefined ? status : `${status} (${plain(reason)})`)],
    ["version", workflow.version],
    ["tenant", tenantFact(workflow)],
    ["steps", counts.join(", ")],
    ...waits.map(
      ({ step, signal, until }): Fact => [
        "waits for",
        `the signal ${signal}${step === signal ? "" : ` in ${step}`}${until === undefined ? "" : `, until ${timeFact(until)}`}`,
      ],
    ),
    ["started", timeFact(workflow.createdAt)],
    ["finished", timeFact(workflow.finishedAt)],
    ["deadline", timeFact(workflow.deadline)],
    [
      "canceled",
      cancelBy === undefined ? undefined : [`by ${cancelBy}`, cancelReason].filter(Boolean).join(": "),
    ],
    ["subject", workflow.subject],
    ["tags", tags.length > 0 ? tags.join(", ") : undefined],
    ["idempotency", workflow.idempotencyKey],
    ["dedupe", workflow.dedupeKey],
    ["input", JSON.stringify(workflow.input)],
    ["output", workflow.output === undefined ? undefined : JSON.stringify(workflow.output)],
  ];
  return `${plain(workflow.name)}\n${factLines(facts, output.style, ["status"])}\n${drawGraph(output, steps)}`;
}
