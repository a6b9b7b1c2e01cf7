/**
 * Every caller sends statements about every table, view, sequence and function. Whatever a call does, the caller must
 * receive no value of the other tenant, and the other tenant's rows must not change.
 */
import pg from "pg";
import type { Random } from "../../../sql/test/support/random.ts";
import { callOf, type Knowledge } from "../arguments.ts";
import { type Reply, send } from "../call.ts";
import { type CatalogFunction, functionsOf, type Relation, relationsOf } from "../catalog.ts";
import { type Caller, callerNames, Scene, trusted } from "../scene.ts";
import type { Steps, Tour } from "../tour.ts";

/** Custom settings that a session may forge. The application's login is trusted to set them. */
function forgeries(random: Random, { victim }: Knowledge): string[] {
  const claims = {
    role: "jobforge_operator",
    tenant_id: victim.tenant,
    app_metadata: { tenant_id: victim.tenant },
  };
  const settings: readonly (readonly [name: string, value: string])[] = [
    ["app.tenant_id", victim.tenant],
    ["request.jwt.claims", JSON.stringify(claims)],
    ["request.jwt.claim.role", "jobforge_operator"],
    ["jobforge.clock_offset", "10 years"],
    ["jobforge.tenant_id", victim.tenant],
    ["search_path", "pg_temp, jobforge, public"],
    ["row_security", "off"],
  ];
  return random
    .some(settings, random.below(4))
    .map(([name, value]) => `select set_config('${name}', ${pg.escapeLiteral(value)}, true)`);
}

function onRelation(random: Random, { name, kind, columns }: Relation, { victim }: Knowledge): string {
  const first = columns[0] ?? "id";
  if (kind === "sequence")
    return random.pick([
      `select nextval('${name}')`,
      `select setval('${name}', 1)`,
      `select * from ${name}`,
      `select pg_sequence_last_value('${name}'::regclass)`,
    ]);
  const where = columns.includes("tenant_id") ? ` where tenant_id = '${victim.tenant}'` : "";
  return random.pick([
    `select * from ${name}${where}`,
    `select t::text from ${name} t`,
    `select count(*) from ${name}`,
    `insert into ${name} default values`,
    `update ${name} set ${first} = ${first}${where}`,
    `delete from ${name}${where}`,
    `select * from ${name} for update`,
    `lock table ${name} in access exclusive mode`,
    `truncate ${name}`,
    `alter table ${name} disable row level security`,
    `create policy open_to_all on ${name} using (true)`,
    `create rule extra as on insert to ${name} do also select 1`,
    `grant all on ${name} to public`,
    `comment on table ${name} is 'x'`,
    `select pg_get_viewdef('${name}'::regclass)`,
    `explain select * from ${name}${where}`,
  ]);
}

async function transact(
  caller: Caller,
  before: readonly string[],
  text: string,
  commits: boolean,
): Promise<Reply> {
  const { connection } = caller;
  const opened = await send(connection, ["begin", ...before].join("; "));
  // A forgery that fails must not end the transaction before the call.
  if (opened.code !== "ok") await send(connection, "rollback; begin");
  const reply = await send(connection, text);
  const end = await send(connection, commits && reply.code === "ok" ? "commit" : "rollback");
  return { code: reply.code, received: [opened, reply, end].map(({ received }) => received).join("\n") };
}

/** Private objects are closed for every caller. Views and a few functions below them are an exception. */
function mustBeRefused(target: Relation | CatalogFunction, open: ReadonlySet<string>): boolean {
  return target.isPrivate && !open.has(target.name);
}

const apiShare = 4;
const honestShare = 0.3;

export const sqlTour: Tour = {
  name: "sql",
  about: "every caller × every table, view, sequence and function, with the ids and keys of the other tenant",
  async play(server, steps) {
    await using scene = await Scene.open(server);
    const relations = await relationsOf(scene.db);
    const functions = await functionsOf(scene.db);
    const open = await openFunctions(scene);
    // Calls of public functions differ most from each other, so they are made more often.
    const api = functions.filter(({ isPrivate }) => !isPrivate);
    const targets = [...relations, ...functions, ...Array.from({ length: apiShare }, () => api).flat()];
    const pairs = callerNames.flatMap((name) =>
      targets.map((target) => ({ caller: scene.caller(name), target })),
    );
    await steps.each(pairs, ({ caller, target }) => step(scene, steps, caller, target, open));
  },
};

async function step(
  scene: Scene,
  steps: Steps,
  caller: Caller,
  target: Relation | CatalogFunction,
  open: ReadonlySet<string>,
): Promise<void> {
  const { random } = steps;
  const victim = scene.victimOf(caller.name);
  const own = victim === scene.a ? scene.b : scene.a;
  const known = { own, victim };
  // Some calls are honest, because their results may leak, too.
  const named = random.chance(honestShare) ? { own, victim: own } : known;
  const text =
    "parameters" in target
      ? callOf(random, target as CatalogFunction, named)
      : onRelation(random, target as Relation, named);
  const names = `select set_config('app.tenant_id', '${own.tenant}', true)`;
  const before = caller.name === "app" ? [names] : forgeries(random, known);
  const commits = !trusted.has(caller.name) && random.chance(0.5);
  await scene.remember(caller.name);
  const { code, received } = await transact(caller, before, text, commits);
  steps.saw(code);
  const request = [...before, text].join("; ");
  if (code === "ok" && mustBeRefused(target, open))
    steps.violated("isolation", "a private object can be used", `${caller.name}: ${request}`);
  if (code === "57014") steps.violated("isolation", "the call does not return", `${caller.name}: ${request}`);
  await scene.check(steps, caller.name, request, received);
}

/** The private functions that callers need for the views. */
async function openFunctions({ db }: Scene): Promise<ReadonlySet<string>> {
  const rows = await db.query<{ name: string }>(
    "select format('jobforge.%I', object) as name from jobforge.rights() where kind = 'private'",
  );
  return new Set(rows.map(({ name }) => name));
}
