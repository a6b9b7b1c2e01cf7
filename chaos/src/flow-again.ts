/** Checks that work flows: every worker finishes a probe job, and every producer commits an order. */
import { setTimeout as sleep } from "node:timers/promises";
import { probeOf, tenants } from "./jobs.ts";
import type { World } from "./world.ts";

const timeLimitMs = 60_000;

export interface Flow {
  /** Milliseconds until all processes had made progress; undefined if that took longer than a minute. */
  readonly ms: number | undefined;
  /** The name of the process that was last. */
  readonly last: string | undefined;
  /** The processes without progress, with the end of the log of each. */
  readonly missing: readonly string[];
}

export async function flowAgain(world: World): Promise<Flow> {
  const { direct, workers, producers } = world;
  const from = performance.now();
  const since = await direct.value<string>("select clock_timestamp()::text");
  const probes = new Map<string, string>();
  for (const { name } of workers) {
    const job = await direct.value<{ id: string }>("select jobforge_enqueue_job($1, $2, p_priority => 100)", [
      tenants[3],
      probeOf(name).type,
    ]);
    probes.set(job.id, name);
  }
  let last: string | undefined;
  const idle = new Set([...probes.values(), ...producers.map(({ name }) => name)]);
  while (performance.now() - from < timeLimitMs) {
    const active = await direct.rows<{ id: string }>(
      `select f.id::text from jobforge.archive f where f.id = any ($1) and f.status = 'succeeded'
       union all
       select distinct o.producer from chaos.orders o where o.at > $2`,
      [[...probes.keys()], since],
    );
    for (const { id } of active) {
      const name = probes.get(id) ?? id;
      if (idle.delete(name)) last = name;
    }
    if (idle.size === 0) return { ms: performance.now() - from, last, missing: [] };
    await sleep(50);
  }
  const children = [...workers.map(({ child }) => child), ...producers];
  const sessions = await direct.rows(
    `select usename, state, wait_event_type, wait_event, now() - xact_start as age, left(query, 200) as query, pg_blocking_pids(pid) as blockers
     from pg_stat_activity where datname = current_database() and usename like 'chaos%'`,
  );
  return {
    ms: undefined,
    last,
    missing: children
      .filter(({ name }) => idle.has(name))
      .map(
        ({ name, lines }) =>
          `${name}. Its last log lines:\n${lines.slice(-10).join("\n")}\nSessions: ${JSON.stringify(sessions)}`,
      ),
  };
}
