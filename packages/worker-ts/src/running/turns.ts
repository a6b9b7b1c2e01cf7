/**
 * Claimed jobs that wait for a slot, in THE CLAIM ORDER of sql/functions/claim/claim.sql: higher priority first; within
 * a priority tenants take turns; the jobs of a tenant in the order of their claim. In the order of claims alone, the
 * first job of a tenant would wait behind everything that was claimed ahead for a tenant with a flood of jobs.
 */
import { Fifo } from "../fifo.ts";
import type { Run } from "./run.ts";

/** The waiting jobs of one tenant. */
interface TenantQueue {
  readonly tenantId: string;
  readonly runs: Fifo<Run>;
}

/** The waiting jobs of one priority. */
interface Level {
  readonly priority: number;
  readonly queues: Map<string, TenantQueue>;
  /** The tenants in the order of their turns. Each queue that has jobs is in it once. */
  readonly turns: Fifo<TenantQueue>;
}

export class Turns {
  /** The priorities that have jobs, the highest first. Mostly there is one. */
  readonly #levels: Level[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** What `shift` would take. */
  get first(): Run | undefined {
    return this.#levels[0]?.turns.first?.runs.first;
  }

  /** When the job that has waited longest was claimed; Infinity when none waits. */
  get waitingSince(): number {
    let since = Number.POSITIVE_INFINITY;
    for (const { queues } of this.#levels) {
      for (const { runs } of queues.values()) since = Math.min(since, runs.first?.claimedAt ?? since);
    }
    return since;
  }

  push(run: Run): void {
    const { queues, turns } = this.#levelOf(run.job.priority);
    const tenantId = run.job.tenant_id;
    let queue = queues.get(tenantId);
    if (queue === undefined) {
      queue = { tenantId, runs: new Fifo() };
      queues.set(tenantId, queue);
      turns.push(queue);
    }
    queue.runs.push(run);
    this.#length += 1;
  }

  shift(): Run | undefined {
    const level = this.#levels[0];
    const queue = level?.turns.shift();
    const run = queue?.runs.shift();
    if (level === undefined || queue === undefined || run === undefined) return undefined;
    this.#length -= 1;
    if (queue.runs.length > 0) level.turns.push(queue);
    else level.queues.delete(queue.tenantId);
    if (level.queues.size === 0) this.#levels.shift();
    return run;
  }

  /** Takes all jobs, in their order. */
  takeAll(): Run[] {
    return Array.from({ length: this.#length }, () => this.shift()).filter((run) => run !== undefined);
  }

  #levelOf(priority: number): Level {
    const place = this.#levels.findIndex((level) => level.priority <= priority);
    const found = this.#levels[place];
    if (found?.priority === priority) return found;
    const level = { priority, queues: new Map(), turns: new Fifo<TenantQueue>() };
    this.#levels.splice(place === -1 ? this.#levels.length : place, 0, level);
    return level;
  }
}
