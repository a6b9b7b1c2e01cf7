/** Whether work flows: every worker gets a job of its own done, and every producer commits an order. */
import { setTimeout as sleep } from "node:timers/promises";
import { probeOf, tenants } from "./jobs.ts";
import type { World } from "./world.ts";

const WITHIN_MS = 60_000;

/** Milliseconds until everybody had got something done; undefined when that took longer than a minute. */
export async function flowAgain(world: World): Promise<number | undefined> {
  const from = performance.now();
  const since = await world.direct.value<string>("select clock_timestamp()::text");
  const probes: string[] = [];
  for (const { name } of world.workers) {
    const job = await world.direct.value<{ id: string }>(
      "select jobforge_enqueue_job($1, $2, p_priority => 100)",
      [tenants[3], probeOf(name).type],
    );
    probes.push(job.id);
  }
  while (performance.now() - from < WITHIN_MS) {
    const waiting = await world.direct.value<number>(
      `select (select count(*) from unnest($1::uuid[]) p(id)
          where not exists (select from jobforge.archive f where f.id = p.id and f.status = 'succeeded'))::int
        + (select $2 - count(distinct o.producer) from chaos.orders o where o.at > $3)::int`,
      [probes, world.producers.length, since],
    );
    if (waiting === 0) return performance.now() - from;
    await sleep(50);
  }
  return undefined;
}
