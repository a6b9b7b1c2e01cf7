/**
 * Logins try to become another role, to leave their binding, or to run their own code inside of JobForge. After each
 * attack, the attacker must still see its own tenant only, and no value of the other tenant may have reached it.
 */
import type { TestConnection } from "@jobforge/testing";
import { send } from "../call.ts";
import { openAs, Scene } from "../scene.ts";
import { tenantA, tenantB } from "../tenants.ts";
import type { Steps, Tour } from "../tour.ts";
import { type Escape, escapes } from "./escapes.ts";
import { type Plot, plots } from "./plots.ts";

/** What an attacker tries after its preparations, to find out whether it escaped. */
const probes: readonly string[] = [
  `select * from public.jobforge_jobs where tenant_id = '${tenantB}'`,
  "select * from public.jobforge_jobs",
  "select * from public.jobforge_job_attempts",
  "select * from public.jobforge_schedules",
  "select * from public.jobforge_audit_log",
  "select * from public.jobforge_usage",
  "select * from public.jobforge_connector_configs",
  `select public.jobforge_list_jobs('${tenantB}')`,
  `select public.jobforge_enqueue_job('${tenantB}', 'intruder')`,
  "select id from public.jobforge_search_jobs()",
  "select * from public.jobforge_claim_jobs('intruder', 10)",
  `select * from public.jobforge_claim_jobs('intruder', 10, null, '${tenantB}')`,
  `select public.jobforge_bind_role(session_user::text, '${tenantB}')`,
  "select * from jobforge.queue",
  "select public.jobforge_create_token('intruder', 'jobforge_operator')",
];

export const escapeTour: Tour = {
  name: "escape",
  about: "other roles, other bindings, foreign objects, leaky functions and errors as oracles",
  async play(server, steps) {
    await using scene = await Scene.open(server);
    await scene.db.query("create table public.loot (found text)");
    await scene.db.query("grant insert, select on public.loot to public");
    const plays = [
      ...escapes.map((each) => () => tryEscape(scene, steps, each)),
      ...plots.map((plot) => () => playPlot(scene, steps, plot)),
    ];
    await steps.each(plays, (play) => play());
  },
};

async function playPlot(scene: Scene, steps: Steps, plot: Plot): Promise<void> {
  await plot.play(scene, steps);
  scene.forget();
}

async function tryEscape(scene: Scene, steps: Steps, { name, as, statements }: Escape): Promise<void> {
  const { random } = steps;
  const { role, url } = scene.caller(as);
  await prepareLair(scene, role);
  await scene.remember(as);
  await using connection = await openAs(scene.db, url);
  const tried = [
    ...statements({ random, victim: scene.victimOf(as), role, seed: steps.number }),
    ...random.some(probes, 6),
  ];
  const received: string[] = [];
  for (const statement of tried) {
    const reply = await send(connection, statement);
    steps.saw(reply.code);
    received.push(reply.received);
    // An attack may leave a failed transaction.
    if (reply.code === "25P02") await send(connection, "rollback");
  }
  await send(connection, "rollback");
  received.push(await reconnected(scene, url));
  await scene.check(steps, as, `${name}: ${tried.join("; ")}`, received.join("\n"));
  await requireBound(scene, steps, connection, as, name);
  await scene.db.query(`alter role ${role} reset all`);
}

/** Settings of a role count from the next session on. */
async function reconnected(scene: Scene, url: string): Promise<string> {
  const connection = await openAs(scene.db, url).catch(() => undefined);
  if (connection === undefined) return "";
  const { received } = await send(connection, "select * from public.jobforge_jobs");
  await connection.close();
  return received;
}

/** The rows that a tenant's session sees are those of its tenant, whatever it did before. */
async function requireBound(
  scene: Scene,
  steps: Steps,
  connection: TestConnection,
  as: string,
  name: string,
): Promise<void> {
  if (as !== "tenant A") return;
  await send(connection, "set row_security = on");
  const seen = await connection
    .query<{ tenant_id: string }>("select distinct tenant_id from public.jobforge_jobs")
    .catch(() => []);
  if (seen.some(({ tenant_id }) => tenant_id !== tenantA))
    steps.violated("isolation", "the session sees another tenant", `${as}: ${name}`);
  await scene.db.query("truncate public.loot");
}

/** An empty schema in which the attacker may create anything. */
async function prepareLair({ db }: Scene, role: string): Promise<void> {
  await db.query("drop schema if exists lair cascade");
  await db.query(`create schema lair authorization ${role}`);
}
