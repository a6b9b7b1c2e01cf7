/** Workflows for pictures and tests: one that succeeded, one that failed, and one that waits for an approval. */
import type { TestConnection } from "@jobforge/testing";

type Db = Pick<TestConnection, "query" | "value">;

interface Claimed extends Record<string, unknown> {
  readonly id: string;
  readonly type: string;
}

const order = [
  { name: "reserve", type: "order.reserve", payload: { order: { $input: "order" } } },
  { name: "charge", type: "order.charge", payload: { order: { $input: "order" } }, needs: ["reserve"] },
  { name: "pack", type: "order.pack", payload: { hold: { $result: "reserve" } }, needs: ["reserve"] },
  { name: "ship", type: "order.ship", needs: ["charge", "pack"] },
  { name: "refund", type: "order.refund", needs: [{ step: "ship", policy: "compensate" }] },
];

const publish = [
  { name: "draft", type: "doc.draft", payload: { doc: { $input: "doc" } } },
  { name: "pages", type: "doc.render", map: { over: { $input: "pages" } }, needs: ["draft"] },
  { name: "approve", signal: { timeout_ms: 3 * 86_400_000 }, needs: ["pages"] },
  {
    name: "release",
    steps: [
      { name: "publish", type: "doc.publish" },
      { name: "announce", type: "doc.announce", needs: ["publish"] },
    ],
    needs: ["approve"],
  },
];

/** Starts and runs them. The ids are by name. */
export async function seedWorkflows(
  db: Db,
  tenant: string,
): Promise<Record<"succeeded" | "failed" | "waiting", string>> {
  const start = async (name: string, steps: unknown, input: object, subject: string): Promise<string> => {
    const started = await db.value<{ id: string }>(
      "select jobforge_start_workflow($1, $2, $3, $4, $5)",
      [tenant, name, steps, input, { subject }].map((each) =>
        typeof each === "string" ? each : JSON.stringify(each),
      ),
    );
    return started.id;
  };
  const succeeded = await start("order.place", order, { order: 2041 }, "order-2041");
  await drain(db, "order.", () => undefined);
  const failed = await start("order.place", order, { order: 2042 }, "order-2042");
  await drain(db, "order.", (type) => (type === "order.charge" ? "The card was declined" : undefined));
  const waiting = await start("doc.publish", publish, { doc: 7, pages: [1, 2, 3, 4] }, "doc-7");
  await drain(db, "doc.", () => undefined);
  return { succeeded, failed, waiting };
}

/** Runs all jobs whose type begins so, also those that follow from others. `failure`: the message for a type. */
export async function drain(
  db: Db,
  prefix: string,
  failure: (type: string) => string | undefined,
): Promise<void> {
  const types = ["reserve", "charge", "pack", "ship", "refund", "draft", "render", "publish", "announce"];
  for (;;) {
    const jobs = await db.query<Claimed>("select id, type from jobforge_claim_jobs('flow-1', 20, $1)", [
      types.map((name) => prefix + name),
    ]);
    if (jobs.length === 0) return;
    for (const { id, type } of jobs) {
      const message = failure(type);
      await (message === undefined
        ? db.query("select jobforge_complete_job($1, 'flow-1', 'succeeded', p_result => $2)", [
            id,
            { of: type },
          ])
        : db.query("select jobforge_complete_job($1, 'flow-1', 'failed', $2, p_retry => false)", [
            id,
            { name: "Error", message },
          ]));
    }
  }
}
