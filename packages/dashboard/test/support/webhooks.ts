/** Endpoints of webhooks for pictures and tests: one that works, one that fails, and one that is disabled. */
import type { TestConnection } from "@jobforge/testing";

type Db = Pick<TestConnection, "query" | "value">;

export type SeededWebhooks = Readonly<Record<"working" | "failing" | "disabled", string>>;

/** Creates them and ends their deliveries. The ids are by name. */
export async function seedWebhooks(db: Db, tenant: string): Promise<SeededWebhooks> {
  const create = async (endpoint: object): Promise<string> => {
    const made = await db.value<{ id: string }>(
      "select jobforge_set_webhook_endpoint($1, p_endpoint => $2)",
      [tenant, JSON.stringify(endpoint)],
    );
    return made.id;
  };
  const working = await create({
    url: "https://shop.acme.example/hooks/jobforge",
    description: "The web shop",
    events: ["invoice.*", "order.*"],
  });
  const failing = await create({
    url: "https://crm.acme.example/events",
    description: "The customer database",
    events: ["invoice.*"],
  });
  const disabled = await create({ url: "https://old.acme.example/webhook", events: ["order.*"] });
  for (const type of ["invoice.paid", "order.shipped", "invoice.refunded", "invoice.paid"]) {
    await db.query("select jobforge_send_event($1, $2)", [
      tenant,
      JSON.stringify({ type, data: { order: 2041 } }),
    ]);
    await deliver(db, failing);
  }
  await db.query("select jobforge_disable_webhook_endpoint($1, $2, 'The shop has moved')", [
    tenant,
    disabled,
  ]);
  return { working, failing, disabled };
}

/** Ends the deliveries that are due: those to one endpoint fail for good, the others succeed. */
export async function deliver(db: Db, failing?: string): Promise<void> {
  const jobs = await db.query<{ id: string; subject: string }>(
    "select id, subject from jobforge_claim_jobs('hooks-1', 20, array['connector.webhook.deliver'])",
  );
  const error = {
    name: "HttpError",
    message: "The endpoint responded with status 503",
    details: { code: "http_status", status: 503 },
  };
  for (const { id, subject } of jobs)
    await (subject === failing
      ? db.query("select jobforge_complete_job($1, 'hooks-1', 'failed', $2, p_retry => false)", [id, error])
      : db.query("select jobforge_complete_job($1, 'hooks-1', 'succeeded')", [id]));
}
