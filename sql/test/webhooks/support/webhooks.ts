/** What the tests of webhooks share. */
import type { TestDatabase } from "@jobforge/testing";

export const T = "11111111-1111-4111-8111-111111111111";
export const other = "22222222-2222-4222-8222-222222222222";
export const deliver = "connector.webhook.deliver";

export interface Delivery {
  readonly subject: string;
  readonly tags: string[];
  readonly event: { readonly id: string; readonly type: string; readonly data: Record<string, unknown> };
}

export interface Claimed {
  readonly id: string;
  readonly attempts: number;
}

export async function endpoint(db: TestDatabase, more: object = {}, tenant = T): Promise<string> {
  const made = await db.value<{ id: string }>("select jobforge_set_webhook_endpoint($1, $2)", [
    tenant,
    { url: "https://example.com/hooks", ...more },
  ]);
  return made.id;
}

export async function endpointOf(
  db: TestDatabase,
  id: string,
  tenant = T,
): Promise<Readonly<Record<string, unknown>>> {
  return await db.value("select jobforge_get_webhook_endpoint($1, $2)", [tenant, id]);
}

export async function enqueue(
  db: TestDatabase,
  type = "mail",
  more: object = {},
  tenant = T,
): Promise<string> {
  const [job] = await db.value<{ id: string }[]>("select jobforge_enqueue_jobs($1, $2)", [
    tenant,
    JSON.stringify([{ type, ...more }]),
  ]);
  if (job === undefined) throw new Error("No job was enqueued.");
  return job.id;
}

export async function claimAll(db: TestDatabase, type: string, count: number): Promise<Claimed[]> {
  return await db.query<Claimed & Record<string, unknown>>(
    "select id, attempts from jobforge_claim_jobs('w', $1, array[$2])",
    [count, type],
  );
}

export async function claim(db: TestDatabase, type = "mail"): Promise<Claimed> {
  const [job] = await claimAll(db, type, 1);
  if (job === undefined) throw new Error(`No job of the type ${type} can be claimed.`);
  return job;
}

export async function settle(db: TestDatabase, { id, attempts }: Claimed, more: object): Promise<void> {
  await db.query("select jobforge_settle_jobs('w', $1)", [
    JSON.stringify([{ id, attempt: attempts, ...more }]),
  ]);
}

export async function end(db: TestDatabase, more: object, type = "mail"): Promise<void> {
  await settle(db, await claim(db, type), more);
}

export async function deliveries(db: TestDatabase): Promise<Delivery[]> {
  return await db.query<Delivery & Record<string, unknown>>(
    `select subject, tags, payload -> 'event' as event from jobforge_jobs where type = '${deliver}' order by id`,
  );
}

export async function types(db: TestDatabase): Promise<string[]> {
  return (await deliveries(db)).map(({ event }) => event.type);
}
