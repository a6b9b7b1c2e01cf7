/**
 * A login leaves a transaction open after some calls. All calls of other callers must return while it is open, and do
 * their work. A statement timeout is the bound, so nothing depends on how fast the machine is.
 */
import { cloneDatabase, type TestConnection, type TestDatabase } from "@jobforge/testing";
import { codeOf, send } from "../call.ts";
import { openAs } from "../scene.ts";
import type { Subject } from "../subjects.ts";
import { tenantA, tenantB } from "../tenants.ts";
import type { Steps, Tour } from "../tour.ts";
import { type Act, actsOf, type HolderName, holders } from "./transaction-acts.ts";
import { bystanders } from "./transaction-calls.ts";
import { prepareHour, prepareWork, type Work } from "./transaction-work.ts";

/** The logins of the tour, each with a connection. */
export interface Logins {
  readonly worker: TestConnection;
  readonly operator: TestConnection;
  readonly tenant: TestConnection;
}

const subjectOf: Readonly<Record<HolderName, Subject>> = {
  "tenant A": "open transactions",
  app: "open transactions",
  "bound worker": "shared work",
  plain: "advisory locks",
};

export const transactionsTour: Tour = {
  name: "transactions",
  about:
    "open transactions of tenants, applications, bound workers and plain logins against the calls of others",
  async play(server, steps) {
    await using db = await cloneDatabase(server);
    const logins = await openLogins(db);
    const urls = await holderUrls(db);
    await prepareWork(db);
    const items = holders.flatMap((holder) => actsOf(holder).map((act) => ({ holder, act })));
    await steps.each(items, async ({ holder, act }) => {
      const work = await prepareHour(db, steps.number);
      for (const connection of Object.values(logins)) await connection.travel(work.offset);
      await using connection = await openAs(db, urls[holder]);
      const held = await hold(connection, steps, holder, act, work);
      await requireUndisturbed(steps, logins, work, subjectOf[holder], held);
      await send(connection, "rollback");
    });
  },
};

/** Opens a transaction, makes the call and some others in it, and leaves it open. Returns what it did. */
async function hold(
  connection: TestConnection,
  steps: Steps,
  holder: HolderName,
  act: Act,
  work: Work,
): Promise<string> {
  const { random } = steps;
  await connection.travel(work.offset);
  if (holder === "app") await connection.query("select set_config('app.tenant_id', $1, false)", [tenantA]);
  await connection.query("begin");
  const acts = [act, ...random.some(actsOf(holder), random.below(3))];
  const texts = acts.map((each) => each(work));
  for (const text of texts) {
    await connection.query("savepoint one");
    const { code } = await send(connection, text);
    steps.saw(`held ${code}`);
    await connection.query(code === "ok" ? "release savepoint one" : "rollback to savepoint one");
  }
  return `${holder}: begin; ${texts.join("; ")}`;
}

/** Makes the calls of others in random order. Each must return and do its work. */
async function requireUndisturbed(
  steps: Steps,
  logins: Logins,
  work: Work,
  subject: Subject,
  held: string,
): Promise<void> {
  for (const { name, as, call } of steps.random.some(bystanders, bystanders.length)) {
    try {
      const problem = await call(logins[as], work);
      steps.saw(problem === undefined ? "ok" : "disturbed");
      if (problem !== undefined) steps.violated(subject, `${as}, ${name}: ${problem}`, held);
    } catch (error) {
      steps.saw(codeOf(error));
      const what = codeOf(error) === "57014" ? "does not return" : String(error);
      steps.violated(subject, `${as}, ${name}: ${what}`, held);
    }
  }
}

async function openLogins(db: TestDatabase): Promise<Logins> {
  const bound = await db.createLogin("jobforge_tenant");
  await db.query("select jobforge_bind_role($1, $2)", [bound.role, tenantB]);
  return {
    worker: await openAs(db, (await db.createLogin("jobforge_worker")).url),
    operator: await openAs(db, (await db.createLogin("jobforge_operator")).url),
    tenant: await openAs(db, bound.url),
  };
}

async function holderUrls(db: TestDatabase): Promise<Readonly<Record<HolderName, string>>> {
  const tenant = await db.createLogin("jobforge_tenant");
  const worker = await db.createLogin("jobforge_worker");
  for (const { role } of [tenant, worker])
    await db.query("select jobforge_bind_role($1, $2)", [role, tenantA]);
  return {
    "tenant A": tenant.url,
    app: (await db.createLogin("jobforge_app")).url,
    "bound worker": worker.url,
    plain: (await db.createLogin()).url,
  };
}
