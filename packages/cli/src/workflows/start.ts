/** `jobforge workflows start`: starts a workflow from JSON. */
import type { Command } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import { exitCodes } from "../failures.ts";
import { readPayload } from "../jobs/payload.ts";
import { plain } from "../output/terminal.ts";
import { collect, count, readTenant, readText } from "../output/values.ts";

interface StartOptions extends CommonOptions {
  readonly tenant: string;
  readonly input?: string;
  readonly idempotencyKey?: string;
  readonly subject?: string;
  readonly tag?: string[];
}

export function startCommand(workflows: Command, cli: Cli): void {
  onDatabase(
    addCommand(workflows, "start <name> <steps>", {
      summary: "Start a workflow",
      details: "The steps are a JSON array, @file, or - for standard input.",
      examples: [
        `jobforge workflows start doc.publish @steps.json --tenant org_123 --input '{"doc": 7}'`,
        `jobforge workflows start once '[{"name": "a", "type": "work"}]' --tenant org_123`,
      ],
    }),
  )
    .requiredOption("--tenant <id>", "the tenant, such as org_123 or a UUID", readTenant)
    .option("--input <json>", "the input of the workflow: JSON, @file, or - for standard input")
    .option("--idempotency-key <key>", "start the workflow only if no other one has this key", readText)
    .option("--subject <text>", "what the workflow is about", readText)
    .option("--tag <tag>", "a tag; repeat the option or separate tags by commas", collect)
    .action(
      action(cli, (name: string, steps: string, options: StartOptions) => start(cli, name, steps, options)),
    );
}

interface Started {
  readonly id: string;
  readonly outcome: string;
  readonly steps: Readonly<Record<string, string>>;
}

async function start(cli: Cli, name: string, given: string, options: StartOptions): Promise<number> {
  const steps = await readPayload(cli, given);
  const input = await readPayload(cli, options.input);
  return await connected(cli, options, async ({ forge }, output) => {
    const { tenant, idempotencyKey, subject, tag } = options;
    const keys = { idempotency_key: idempotencyKey, subject, tags: tag };
    const started = await forge.transport.call<Started>("jobforge_start_workflow", {
      p_tenant_id: tenant,
      p_name: name,
      p_steps: steps,
      p_input: input,
      p_options: Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined)),
    });
    const { id, outcome } = started;
    output.result(
      started,
      () =>
        `${plain(name)} ${output.style("green", outcome)}: ${id}, ${count(Object.keys(started.steps).length, "step")}\n`,
    );
    return exitCodes.ok;
  });
}
