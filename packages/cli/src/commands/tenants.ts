/** `jobforge tenants`: lists tenants, shows one, and sets its label, quotas and weight. */
import { bounds, type ListedTenant, type TenantInfo, type TenantSettings } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import {
  action,
  addCommand,
  addGroup,
  type Cli,
  type CommonOptions,
  connected,
  listing,
  onDatabase,
} from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import type { Column } from "../output/table.ts";
import { ago, readTenant, wholeNumber } from "../output/values.ts";

interface SetOptions extends CommonOptions {
  readonly label?: string | null;
  readonly maxPending?: number | null;
  readonly maxTypes?: number | null;
  readonly maxSchedules?: number | null;
  readonly weight?: number;
}

const columns: readonly Column<ListedTenant>[] = [
  { title: "tenant", value: (tenant) => tenant.tenantId },
  { title: "label", value: (tenant) => tenant.label, shrinks: true },
  { title: "max pending", value: (tenant) => tenant.maxPending ?? "", align: "right" },
  { title: "max types", value: (tenant) => tenant.maxTypes, align: "right" },
  { title: "max schedules", value: (tenant) => tenant.maxSchedules, align: "right" },
  { title: "weight", value: (tenant) => tenant.weight, align: "right" },
  { title: "seen", value: (tenant) => ago(tenant.seenAt) },
];

/** The argument of the commands for one tenant. */
const tenantArgument = "a UUID, or an id of your application such as org_123";

export function tenantsCommands(program: Command, cli: Cli): void {
  const tenants = addGroup(program, "tenants", "Show tenants, and set their labels, quotas and weights");
  onDatabase(
    addCommand(tenants, "list", {
      summary: "List the tenants that have settings or have enqueued jobs",
      examples: ["jobforge tenants list", "jobforge tenants list --json"],
    }),
  ).action(listing(cli, columns, "No tenants yet.", (forge) => forge.tenants.list()));
  onDatabase(
    addCommand(tenants, "show", {
      summary: "Show the UUID, label, quotas and weight of a tenant",
      examples: ["jobforge tenants show org_123"],
    }).argument("<tenant>", tenantArgument, readTenant),
  ).action(action(cli, (tenant: string, options: CommonOptions) => show(cli, tenant, options)));
  onDatabase(
    addCommand(tenants, "set", {
      summary: "Set the label, quotas or weight of a tenant",
      details: "Settings that are not given stay as they are.",
      examples: [
        "jobforge tenants set org_123 --label org_123 --max-pending 10000",
        "jobforge tenants set org_123 --max-pending none --weight 3",
      ],
    }).argument("<tenant>", tenantArgument, readTenant),
  )
    .option("--label <text>", "what people call the tenant; none for no label", orNone(String))
    .option(
      "--max-pending <count>",
      "how many jobs may be queued and running; none for no quota",
      orNone(wholeNumber("--max-pending", bounds.maxPending)),
    )
    .option(
      "--max-types <count>",
      "how many different types the tenant may use; none for the default",
      orNone(wholeNumber("--max-types", bounds.maxTypes)),
    )
    .option(
      "--max-schedules <count>",
      "how many schedules the tenant may have; none for the default",
      orNone(wholeNumber("--max-schedules", bounds.maxSchedules)),
    )
    .option(
      "--weight <count>",
      "how many turns the tenant gets where others get one",
      wholeNumber("--weight", bounds.weight),
    )
    .action(action(cli, (tenant: string, options: SetOptions) => set(cli, tenant, options)));
}

/** Parses `none` as null. */
function orNone<T>(parse: (given: string) => T): (given: string) => T | null {
  return (given) => (given === "none" ? null : parse(given));
}

async function show(cli: Cli, tenant: string, options: CommonOptions): Promise<number> {
  return await connected(cli, options, async ({ forge }, output) => {
    const found = await forge.tenants.get(tenant);
    output.result(found, () => describe(found));
    return exitCodes.ok;
  });
}

async function set(cli: Cli, tenant: string, options: SetOptions): Promise<number> {
  const { label, maxPending, maxTypes, maxSchedules, weight } = options;
  const settings: TenantSettings = { label, maxPending, maxTypes, maxSchedules, weight };
  if (Object.values(settings).every((each) => each === undefined))
    throw new UsageError("Pass a setting: --label, --max-pending, --max-types, --max-schedules or --weight.");
  return await connected(cli, options, async ({ forge }, output) => {
    await forge.tenants.set(tenant, settings);
    const found = await forge.tenants.get(tenant);
    output.result(found, () => describe(found));
    return exitCodes.ok;
  });
}

function describe(tenant: TenantInfo): string {
  const pending = tenant.pending === undefined ? "" : `${tenant.pending.toLocaleString("en")} of `;
  const lines = [
    `tenant     ${tenant.tenantId}`,
    `label      ${tenant.label ?? "none"}`,
    `pending    ${pending}${tenant.maxPending?.toLocaleString("en") ?? "no quota"}`,
    `types      ${tenant.types.toLocaleString("en")} of ${tenant.maxTypes.toLocaleString("en")}`,
    `schedules  up to ${tenant.maxSchedules.toLocaleString("en")}`,
    `weight     ${tenant.weight}`,
  ];
  return `${lines.join("\n")}\n`;
}
