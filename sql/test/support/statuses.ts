/** Jobs of all statuses, for the tests of counts. */
import { cancel, claim, complete, enqueue, fail, type Sql, U } from "./kernel.ts";

/**
 * Creates jobs of tenant T: two queued, one running, one succeeded, one failed, one canceled; and one queued job of
 * tenant U.
 */
export async function jobsOfAllStatuses(db: Sql): Promise<void> {
  for (const end of ["succeeded", "failed"]) {
    const { id } = await enqueue(db);
    await claim(db);
    if (end === "succeeded") await complete(db, id);
    else await fail(db, id, { retry: false });
  }
  await enqueue(db);
  await claim(db);
  await cancel(db, (await enqueue(db)).id);
  await enqueue(db);
  await enqueue(db, { in: "1 hour" });
  await enqueue(db, { tenant_id: U, type: "b" });
}
