/** `jobforge webhooks test`, `rotate`, `enable`, `disable` and `delete`: steer one endpoint. */
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes } from "../failures.ts";
import { confirm } from "../output/confirm.ts";
import { plain } from "../output/terminal.ts";
import { ago, readSpan, readText } from "../output/values.ts";
import { endpointOf, inWords, type OfTenant, ofTenant } from "./one.ts";

const example = "0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 --tenant org_123";

export function testCommand(webhooks: Command, cli: Cli): void {
  ofTenant(
    addCommand(webhooks, "test <id>", {
      summary: "Send the event webhook.test to an endpoint",
      details: "It takes the same way as every other delivery, so a worker with connectors must run.",
      examples: [`jobforge webhooks test ${example}`],
    }),
  ).action(
    action(cli, (id: string, options: OfTenant) =>
      connected(cli, options, async ({ forge }, output) => {
        const sent = await forge.webhooks.test(endpointOf(id, options));
        output.result(sent, () => `webhook.test is queued as the delivery ${sent.jobId}\n`);
        output.remark(`To follow it: jobforge jobs tail ${sent.jobId}`);
        return exitCodes.ok;
      }),
    ),
  );
}

interface RotateOptions extends OfTenant {
  readonly keep?: number;
  readonly masterKey?: string;
}

export function rotateCommand(webhooks: Command, cli: Cli): void {
  ofTenant(
    addCommand(webhooks, "rotate <id>", {
      summary: "Give an endpoint a new signing key",
      details: "The key before signs as well for 24 hours, so that the receiver can change its secret.",
      examples: [`jobforge webhooks rotate ${example}`, `jobforge webhooks rotate ${example} --keep 0s`],
    }),
  )
    .option(
      "--keep <span>",
      "how long the key before signs as well, up to 30d; 0s for one that leaked",
      readSpan,
    )
    .option("--master-key <name>", "the master key of the new key (default: as before)", readText)
    .action(
      action(cli, (id: string, options: RotateOptions) =>
        connected(cli, options, async ({ forge }, output) => {
          const { keep: keepMs, masterKey } = options;
          const endpoint = await forge.webhooks.rotate(endpointOf(id, options), { keepMs, masterKey });
          const [newest, ...older] = endpoint.keys;
          const still = older.map(
            ({ version, until }) => `; version ${version} signs as well, it ends ${ago(until)}`,
          );
          output.result(endpoint, () => `${id}: version ${newest?.version} signs${still.join("")}.\n`);
          return exitCodes.ok;
        }),
      ),
    );
}

export function enableCommand(webhooks: Command, cli: Cli): void {
  ofTenant(
    addCommand(webhooks, "enable <id>", {
      summary: "Enable an endpoint; the deliveries that wait for it go out",
      details: "It also ends a hold of the circuit breaker.",
      examples: [`jobforge webhooks enable ${example}`],
    }),
  ).action(
    action(cli, (id: string, options: OfTenant) =>
      connected(cli, options, async ({ forge }, output) => {
        const endpoint = await forge.webhooks.enable(endpointOf(id, options));
        output.result(endpoint, () => `${id}: ${inWords(endpoint)}\n`);
        return exitCodes.ok;
      }),
    ),
  );
}

interface DisableOptions extends OfTenant {
  readonly reason?: string;
}

export function disableCommand(webhooks: Command, cli: Cli): void {
  ofTenant(
    addCommand(webhooks, "disable <id>", {
      summary: "Disable an endpoint; its deliveries wait, for up to seven days",
      examples: [`jobforge webhooks disable ${example} --reason "The customer moves."`],
    }),
  )
    .option("--reason <text>", "why, for people; it is stored with the endpoint", readText)
    .action(
      action(cli, (id: string, options: DisableOptions) =>
        connected(cli, options, async ({ forge }, output) => {
          const { reason } = options;
          const endpoint = await forge.webhooks.disable(endpointOf(id, options), { reason });
          output.result(endpoint, () => `${id}: ${inWords(endpoint)}\n`);
          return exitCodes.ok;
        }),
      ),
    );
}

interface DeleteOptions extends OfTenant {
  readonly yes?: boolean;
}

export function deleteCommand(webhooks: Command, cli: Cli): void {
  ofTenant(
    addCommand(webhooks, "delete <id>", {
      summary: "Delete an endpoint, and cancel its deliveries that are queued",
      details: "To stop an endpoint for a while, disable it.",
      examples: [`jobforge webhooks delete ${example} --yes`],
    }),
  )
    .option("--yes", "do not ask for confirmation")
    .action(
      action(cli, (id: string, options: DeleteOptions) =>
        connected(cli, options, async ({ forge }, output) => {
          const reference = endpointOf(id, options);
          const { url } = await forge.webhooks.get(reference);
          await confirm(`This deletes the endpoint ${plain(url)}.`, options.yes, cli.process);
          const { canceled } = await forge.webhooks.delete(reference);
          output.result(
            { ...reference, deleted: true, canceled },
            () => `${id}: deleted; queued deliveries that were canceled: ${canceled}.\n`,
          );
          return exitCodes.ok;
        }),
      ),
    );
}
