/**
 * Claimed jobs that wait for a slot, in the order in which the kernel hands jobs out: higher priority first; within a priority tenants
 * take turns; a tenant's jobs as they were claimed. In the order of claims alone, the first job of a tenant would wait behind all
 * that was claimed ahead for one that floods.
 */
import { Fifo } from "../fifo.ts";
import type { Run } from "./run.ts";

/** The jobs of one tenant. */
interface Lane {
  readonly tenantId: string;
  readonly runs: Fifo<Run>;
}

interface Level {
  readonly priority: number;
  readonly lanes: Map<string, Lane>;
  /** Whose turn it is, and who comes then. Each lane that has jobs is in it once. */
  readonly turns: Fifo<Lane>;
}

export class Turns {
  /** Those that have jobs, the highest priority first. Mostly there is one. */
  readonly #levels: Level[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** What `shift` would take. */
  get first(): Run | undefined {
    return this.#levels[0]?.turns.first?.runs.first;
  }

  /** When the job was claimed that has waited longest; Infinity when none waits. */
  get waitingSince(): number {
    let since = Number.POSITIVE_INFINITY;
    for (const { lanes } of this.#levels) {
      for (const { runs } of lanes.values()) since = Math.min(since, runs.first?.claimedAt ?? since);
    }
    return since;
  }

  push(run: Run): void {
    const { lanes, turns } = this.#levelOf(run.job.priority);
    const tenantId = run.job.tenant_id;
    let lane = lanes.get(tenantId);
    if (lane === undefined) {
      lane = { tenantId, runs: new Fifo() };
      lanes.set(tenantId, lane);
      turns.push(lane);
    }
    lane.runs.push(run);
    this.#length += 1;
  }

  shift(): Run | undefined {
    const level = this.#levels[0];
    const lane = level?.turns.shift();
    const run = lane?.runs.shift();
    if (level === undefined || lane === undefined || run === undefined) return undefined;
    this.#length -= 1;
    if (lane.runs.length > 0) level.turns.push(lane);
    else level.lanes.delete(lane.tenantId);
    if (level.lanes.size === 0) this.#levels.shift();
    return run;
  }

  /** Takes all there are. */
  takeAll(): Run[] {
    return Array.from({ length: this.#length }, () => this.shift()).filter((run) => run !== undefined);
  }

  #levelOf(priority: number): Level {
    const place = this.#levels.findIndex((level) => level.priority <= priority);
    const there = this.#levels[place];
    if (there?.priority === priority) return there;
    const level = { priority, lanes: new Map(), turns: new Fifo<Lane>() };
    this.#levels.splice(place === -1 ? this.#levels.length : place, 0, level);
    return level;
  }
}
