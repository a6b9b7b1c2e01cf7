/** `jobforge webhooks secret`: shows what the receiver of an endpoint verifies with. */
import type { WebhookEndpoint } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { CommandError, exitCodes } from "../failures.ts";
import { keptMasterKey, loadMasterKeys, masterKeyVariable } from "../handlers/master-keys.ts";
import { ago } from "../output/values.ts";
import { endpointOf, type OfTenant, ofTenant } from "./one.ts";

export function secretCommand(webhooks: Command, cli: Cli): void {
  ofTenant(
    addCommand(webhooks, "secret <id>", {
      summary: "Show what the receiver of an endpoint verifies with, the newest first",
      details: [
        `It is derived from ${masterKeyVariable}, as the workers do it.`,
        "Without the variable, the key of jobforge dev in this directory is taken.",
      ].join(" "),
      examples: ["jobforge webhooks secret 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 --tenant org_123"],
    }),
  ).action(
    action(cli, (id: string, options: OfTenant) =>
      connected(cli, options, async ({ forge }, output) => {
        const endpoint = await forge.webhooks.get(endpointOf(id, options));
        const { env, isKept } = await environmentOf(cli);
        const items = await secretsOf(endpoint, env);
        output.result({ items }, () =>
          items.map(({ secret, until }) => `${secret}${until ? `  until ${ago(until)}` : ""}\n`).join(""),
        );
        if (isKept)
          output.remark("It is derived from the master key that jobforge dev made in this directory.");
        return exitCodes.ok;
      }),
    ),
  );
}

/** The environment, with the master key of `jobforge dev` if it names none. */
async function environmentOf({
  process: { env, cwd },
}: Cli): Promise<{ readonly env: Readonly<Record<string, string | undefined>>; readonly isKept: boolean }> {
  if (env[masterKeyVariable]) return { env, isKept: false };
  const kept = await keptMasterKey(cwd?.() ?? process.cwd());
  return kept === undefined
    ? { env, isKept: false }
    : { env: { ...env, [masterKeyVariable]: kept }, isKept: true };
}

interface Secret {
  readonly version: number;
  readonly secret: string;
  readonly until: Date | undefined;
}

async function secretsOf(
  { id, tenantId, signature, keys }: WebhookEndpoint,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Secret[]> {
  const { webhookSecrets } = await import("@jobforge/connectors");
  const versions = keys.map(({ version, masterKey }) => ({ version, master_key: masterKey }));
  const derive = webhookSecrets(await loadMasterKeys(env));
  const found = derive({ id, tenant_id: tenantId, signature, keys: versions });
  if (found === undefined) {
    const names = keys.map(({ masterKey }) =>
      masterKey === "default" ? masterKeyVariable : `${masterKeyVariable}_${masterKey}`,
    );
    throw new CommandError(
      "no_master_key",
      "There is no master key to derive the secret from.",
      `Set ${[...new Set(names)].join(" and ")} as the workers have it.`,
    );
  }
  return found.map(({ version, secret }, index) => ({ version, secret, until: keys[index]?.until }));
}
