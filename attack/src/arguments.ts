/** Arguments for any function of the catalog, chosen by name and type. They name the victim wherever they can. */
import pg from "pg";
import type { Random } from "../../sql/test/support/random.ts";
import type { CatalogFunction, Parameter } from "./catalog.ts";
import type { Holdings } from "./tenants.ts";

/** What an attacker knows: its own holdings, and the known values of its victim. */
export interface Knowledge {
  readonly own: Holdings;
  readonly victim: Holdings;
}

const literal = (value: string | null): string => (value === null ? "null" : pg.escapeLiteral(value));
const json = (value: unknown): string => JSON.stringify(value);
const nil = "00000000-0000-0000-0000-000000000000";
const unknownId = "33333333-3333-7333-8333-333333333333";

/** The text of a call with arguments. Some optional arguments are left out. */
export function callOf(random: Random, { name, parameters }: CatalogFunction, known: Knowledge): string {
  const given = parameters.filter(({ isOptional }) => !isOptional || random.chance(0.5));
  const texts = given.map((parameter) => {
    const value = `${literal(argument(random, parameter, known))}::${parameter.type}`;
    return parameter.name === "" ? value : `${pg.escapeIdentifier(parameter.name)} => ${value}`;
  });
  return `select * from ${name}(${texts.join(", ")})`;
}

function argument(random: Random, { name, type }: Parameter, known: Knowledge): string | null {
  if (random.chance(0.03)) return null;
  switch (type) {
    case "uuid":
      return uuid(random, name, known);
    case "uuid[]":
      return `{${[uuid(random, name, known), uuid(random, name, known)].join()}}`;
    case "text":
    case "jobforge.key_text":
    case "jobforge.type_name":
      return text(random, name, known);
    case "text[]":
      return `{${[text(random, "p_type", known), text(random, "p_type", known)].map((each) => json(each)).join()}}`;
    case "jsonb":
    case "json":
      return json(document(random, name, known));
    case "boolean":
      return random.pick(["true", "false"]);
    case "integer":
    case "bigint":
    case "smallint":
    case "numeric":
    case "double precision":
      return random.pick(["0", "1", "2", "10", "1000", "-1", "2147483647"]);
    case "integer[]":
    case "bigint[]":
    case "numeric[]":
      return random.pick(["{}", "{1,2}", "{0}"]);
    case "timestamp with time zone":
      return random.pick([
        "2000-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z",
        "2099-01-01T00:00:00Z",
        "infinity",
      ]);
    case "interval":
      return random.pick(["1 hour", "1 day", "0", "-1 day"]);
    default:
      return null;
  }
}

function uuid(random: Random, name: string, { own, victim }: Knowledge): string {
  if (/tenant|scope/.test(name))
    return random.chance(0.6) ? victim.tenant : random.pick([own.tenant, own.tenant, nil, unknownId]);
  return random.chance(0.7)
    ? random.pick(victim.knownJobs)
    : random.pick([...own.knownJobs, unknownId, victim.tenant]);
}

function text(random: Random, name: string, { own, victim }: Knowledge): string {
  const holder = random.chance(0.7) ? victim : own;
  if (/worker/.test(name)) return random.pick([holder.knownWorker, own.knownWorker, "w"]);
  if (/type/.test(name)) return random.pick([holder.knownType, "capped", "closed", "*"]);
  if (/scope/.test(name)) return random.pick(["tenant", "type", "key", "type_tenant", "all"]);
  if (/status/.test(name)) return random.pick(["succeeded", "failed", "dead"]);
  if (/role/.test(name))
    return random.pick(["jobforge_operator", "jobforge_app", "jobforge_worker", "postgres"]);
  if (/expression/.test(name)) return random.pick(["@daily", "0 0 * * *", "x"]);
  if (/timezone/.test(name)) return random.pick(["UTC", "Europe/Berlin", "x"]);
  if (/key|name|subject|app/.test(name))
    return random.pick([holder.knownKey, holder.tenant, `${holder.knownType}:${holder.tenant}`, "*"]);
  return random.pick([
    holder.knownKey,
    holder.tenant,
    holder.knownType,
    "",
    "cancel",
    "' or true --",
    "00112233445566778899aabbccddeeff",
  ]);
}

function document(random: Random, name: string, known: Knowledge): unknown {
  const { own, victim } = known;
  const holder = random.chance(0.7) ? victim : own;
  const id = uuid(random, "p_job_id", known);
  const job = {
    type: text(random, "p_type", known),
    payload: { from: "attacker" },
    tenant_id: victim.tenant,
    idempotency_key: `${holder.knownKey}`,
    dedupe_key: holder.knownKey,
    dedupe_mode: random.pick(["skip", "replace", "debounce"]),
    concurrency_key: holder.knownKey,
  };
  const { tenant_id: _, ...own_job } = job;
  if (/jobs/.test(name)) return random.pick([[job], [own_job], [own_job, job], []]);
  if (/results/.test(name)) {
    const end = { id, attempt: 1, status: random.pick(["succeeded", "failed", "deferred", "released"]) };
    return random.pick([[end], [{ ...end, children: [own_job] }], [{ ...end, children: [job] }], [end, end]]);
  }
  if (/filters/.test(name))
    return random.pick<unknown>([
      {},
      { tenant_id: victim.tenant },
      { subject: holder.knownKey.replace("key", "subject") },
      { tags: [holder.knownKey.replace("key", "tag")] },
      { status: ["queued", "running", "succeeded", "failed", "dead", "canceled"] },
      { type: holder.knownType, limit: 1000 },
      { cursor: id },
      { ids: victim.knownJobs },
    ]);
  if (/info/.test(name))
    return { instance: random.pick(["1", "2"]), idle: random.chance(0.5), held: [{ id, attempt: 1 }] };
  if (/schedules/.test(name))
    return [{ type: job.type, key: holder.knownKey, cron: "@daily", tenant_id: victim.tenant }];
  if (/options|changes|settings|policy/.test(name))
    return random.pick<unknown>([
      { cron: "@daily", payload: { from: "attacker" } },
      { priority: 9 },
      { max_pending: 0 },
      { enabled: false },
      { tenant_id: victim.tenant },
      { retention_days: 1 },
    ]);
  if (/wakes/.test(name)) return { [holder.knownType]: 1 };
  return random.pick<unknown>([{}, [], { tenant_id: victim.tenant }, { url: "x" }, "text", null, 5]);
}
