/** `jobforge token`: the keys of the HTTP server. A key is shown only once, when it is created. */
import { type JobForge, tokenRoles } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import {
  action,
  addCommand,
  addGroup,
  type Cli,
  type CommonOptions,
  connected,
  onDatabase,
} from "../command.ts";
import { exitCodes, NotFoundError, UsageError } from "../failures.ts";
import type { Column } from "../output/table.ts";
import { ago, choice, readTenant, readTime } from "../output/values.ts";
import { createToken, listTokens, revokeToken, stateOf, type Token } from "../server/tokens.ts";

interface CreateOptions extends CommonOptions {
  readonly role: string;
  readonly tenant?: string;
  readonly expires?: Date;
}

interface ListOptions extends CommonOptions {
  readonly all?: boolean;
}

const columns: readonly Column<Token>[] = [
  { title: "prefix", value: (token) => token.prefix },
  { title: "name", value: (token) => token.name, shrinks: true },
  { title: "role", value: (token) => token.role },
  { title: "tenant", value: (token) => token.tenantId, shrinks: "first" },
  { title: "state", value: stateOf, tone: (token) => (stateOf(token) === "valid" ? "green" : "gray") },
  { title: "created", value: (token) => ago(token.createdAt), shrinks: "away" },
  { title: "used", value: (token) => ago(token.lastUsedAt) },
  { title: "expires", value: (token) => ago(token.expiresAt) },
];

export function tokenCommands(program: Command, cli: Cli): void {
  const tokens = addGroup(program, "token", "Create, list and revoke the keys of the HTTP server");
  onDatabase(
    addCommand(tokens, "create <name>", {
      summary: "Create a key, which is shown only once",
      details: "Only a digest of the key is stored. The name tells people who uses the key, and for what.",
      examples: [
        "jobforge token create Dashboard --role jobforge_operator --expires 90d",
        'jobforge token create "The shop" --role jobforge_app --tenant 11111111-1111-4111-8111-111111111111',
      ],
    }),
  )
    .requiredOption("--role <role>", `the role of the key: ${choice(tokenRoles)}`)
    .option("--tenant <id>", "the tenant of a key with the role jobforge_app", readTenant)
    .option("--expires <time>", "when the key expires: a time, or a time span such as 90d", (given) =>
      readTime(given, "ahead"),
    )
    .action(action(cli, (name: string, options: CreateOptions) => create(cli, name, options)));
  onDatabase(
    addCommand(tokens, "list", {
      summary: "List the keys, the newest first",
      examples: ["jobforge token list", "jobforge token list --all --json"],
    }),
  )
    .option("--all", "include revoked and expired keys")
    .action(action(cli, (options: ListOptions) => list(cli, options)));
  onDatabase(
    addCommand(tokens, "revoke <key>", {
      summary: "Revoke a key by its prefix or id, immediately and permanently",
      examples: ["jobforge token revoke jf_4f1c09a2"],
    }),
  ).action(action(cli, (key: string, options: CommonOptions) => revoke(cli, key, options)));
}

async function create(cli: Cli, name: string, options: CreateOptions): Promise<number> {
  const { role, tenant: tenantId, expires: expiresAt } = options;
  if (role === "jobforge_app" && tenantId === undefined)
    throw new UsageError("A key of jobforge_app acts for one tenant. Pass --tenant.");
  return await connected(cli, options, async ({ forge }, output) => {
    const created = await createToken(forge, { name, role, tenantId, expiresAt });
    // Only the key, so that a script can store it.
    output.result(created, () => `${created.token}\n`);
    output.remark("The key is not shown again. Send it as Authorization: Bearer …");
    return exitCodes.ok;
  });
}

async function list(cli: Cli, options: ListOptions): Promise<number> {
  return await connected(cli, options, async ({ forge }, output) => {
    const tokens = await listTokens(forge);
    const items = options.all ? tokens : tokens.filter((token) => stateOf(token) === "valid");
    output.list(items, columns, { empty: "No keys." });
    return exitCodes.ok;
  });
}

async function revoke(cli: Cli, key: string, options: CommonOptions): Promise<number> {
  return await connected(cli, options, async ({ forge }, output) => {
    const { id } = await find(forge, key);
    const revoked = await revokeToken(forge, id);
    output.result(revoked, () => `${revoked.prefix} (${revoked.name}) is revoked.\n`);
    return exitCodes.ok;
  });
}

async function find(forge: JobForge, key: string): Promise<Token> {
  const token = (await listTokens(forge)).find(({ id, prefix }) => id === key || prefix === key);
  if (token === undefined)
    throw new NotFoundError(
      "There is no such key. Pass its prefix or id, as listed by jobforge token list --all.",
    );
  return token;
}
