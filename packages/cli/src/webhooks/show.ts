/** `jobforge webhooks show`: shows the settings and the state of one endpoint. */
import type { WebhookEndpoint } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes } from "../failures.ts";
import { type Fact, factLines, timeFact } from "../output/facts.ts";
import type { Output } from "../output/output.ts";
import { plain } from "../output/terminal.ts";
import { span } from "../output/values.ts";
import { endpointOf, type OfTenant, ofTenant, stateOf, stateTone } from "./one.ts";

export function showCommand(webhooks: Command, cli: Cli): void {
  ofTenant(
    addCommand(webhooks, "show <id>", {
      summary: "Show an endpoint",
      examples: ["jobforge webhooks show 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 --tenant org_123"],
    }),
  ).action(
    action(cli, (id: string, options: OfTenant) =>
      connected(cli, options, async ({ forge }, output) => {
        const endpoint = await forge.webhooks.get(endpointOf(id, options));
        output.result(endpoint, () => describe(output, endpoint));
        return exitCodes.ok;
      }),
    ),
  );
}

function describe(output: Output, endpoint: WebhookEndpoint): string {
  const { reason, retrySchedule } = endpoint;
  const state = output.style(stateTone(endpoint), stateOf(endpoint));
  const facts: readonly Fact[] = [
    ["id", endpoint.id],
    ["tenant", endpoint.tenantId],
    ["description", endpoint.description],
    ["state", reason === undefined ? state : `${state} (${plain(reason)})`],
    ["disabled", timeFact(endpoint.disabledAt)],
    ["failing", timeFact(endpoint.failingSince)],
    ["held until", timeFact(endpoint.heldUntil)],
    ["events", endpoint.events.join(", ")],
    ["job types", several(endpoint.jobTypes)],
    ["tags", several(endpoint.tags)],
    ["include", several(endpoint.include)],
    ["format", endpoint.format],
    ["signature", endpoint.signature],
    ["keys", keysOf(endpoint)],
    ["headers", headersOf(endpoint)],
    ["ordered", endpoint.ordered ? "one delivery at a time" : undefined],
    ["retries", several(retrySchedule?.map((seconds) => span(seconds * 1000)) ?? [])],
    ["created", timeFact(endpoint.createdAt)],
    ["changed", timeFact(endpoint.updatedAt)],
  ];
  return `${plain(endpoint.url)}\n${factLines(facts, output.style, ["state"])}`;
}

function several(values: readonly string[]): string | undefined {
  return values.length === 0 ? undefined : values.join(", ");
}

function keysOf({ keys }: WebhookEndpoint): string {
  const each = keys.map(({ version, masterKey, until }) => {
    const from = masterKey === "default" ? "" : ` of ${masterKey}`;
    return `version ${version}${from}${until === undefined ? "" : ` until ${timeFact(until)}`}`;
  });
  return each.join(", ");
}

function headersOf({ headers }: WebhookEndpoint): string | undefined {
  const lines = Object.entries(headers).map(
    ([name, value]) => `${name}: ${typeof value === "string" ? value : `the secret ${value.$secret}`}`,
  );
  return several(lines);
}
