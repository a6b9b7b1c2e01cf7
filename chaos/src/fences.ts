/** Tries to get past the fence: reports success for lost runs, under the name of the worker that had them. */
import type { Random } from "../../sql/test/support/random.ts";
import type { World } from "./world.ts";

type Lost = { readonly job_id: string; readonly attempt_no: number; readonly worker_id: string };

/** Sends forged reports, which must all be refused. Returns their number. */
export async function probeFences(world: World, random: Random): Promise<number> {
  const lost = await world.direct.rows<Lost>(
    `select a.job_id, a.attempt_no, a.worker_id from jobforge.attempts a
     where a.status = 'lost' order by a.finished_at desc limit 20`,
  );
  const chosen = random.some(lost, 5);
  for (const { job_id: id, attempt_no: attempt, worker_id } of chosen) {
    const { settled } = await world.direct.value<{ settled: { outcome: string }[] }>(
      "select jobforge_settle_jobs($1, $2)",
      [worker_id, JSON.stringify([{ id, attempt, status: "succeeded", result: { forged: true } }])],
    );
    if (settled[0]?.outcome !== "stale") {
      world.violated(
        "fences",
        `a forged end of attempt ${attempt} by ${worker_id} got the outcome ${settled[0]?.outcome}`,
        id,
      );
    }
  }
  return chosen.length;
}
