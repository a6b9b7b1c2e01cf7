/** `jobforge webhooks list`: lists the endpoints of a tenant. */
import type { WebhookEndpoint } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { addCommand, type Cli, listing } from "../command.ts";
import type { Column } from "../output/table.ts";
import { ago } from "../output/values.ts";
import { type OfTenant, ofTenant, stateOf, stateTone } from "./one.ts";

const columns: readonly Column<WebhookEndpoint>[] = [
  // Never cut: other commands take the whole id.
  { title: "id", value: ({ id }) => id, tone: () => "dim", cut: "start" },
  { title: "url", value: ({ url }) => url, shrinks: true },
  { title: "state", value: stateOf, tone: stateTone },
  {
    title: "failing",
    value: ({ failingSince }) => (failingSince === undefined ? undefined : `since ${ago(failingSince)}`),
    optional: true,
    tone: () => "red",
    shrinks: "away",
  },
  { title: "events", value: ({ events }) => events.join(", "), shrinks: "first" },
  { title: "description", value: ({ description }) => description, optional: true, shrinks: "away" },
];

const noEndpoints = "No endpoints of this tenant. Without --tenant, it is the global tenant.";

export function listCommand(webhooks: Command, cli: Cli): void {
  ofTenant(
    addCommand(webhooks, "list", {
      summary: "List the endpoints of a tenant, the oldest first",
      examples: ["jobforge webhooks list --tenant org_123"],
    }),
  ).action(
    listing(cli, columns, noEndpoints, (forge, options: OfTenant) => forge.webhooks.list(options.tenant)),
  );
}
