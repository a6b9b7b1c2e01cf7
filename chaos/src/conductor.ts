/**
 * Injects faults one after the other, sometimes two at once, and checks after each that work flows again. The seed
 * decides which faults happen and how severe they are. How processes interleave with them depends on the machine.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Random, randomFrom } from "../../sql/test/support/random.ts";
import { findViolations, limitsNow, roomsNow } from "./checks/index.ts";
import type { Fault, FaultKind } from "./faults/fault.ts";
import { probeFences } from "./fences.ts";
import { flowAgain } from "./flow-again.ts";
import type { Child } from "./processes/child.ts";
import type { World } from "./world.ts";

/** The share of a core that a process may use while it waits for its database. */
const maxCpuShare = 0.5;
/** The minimum time to measure that share. */
const minWatchMs = 1_500;

export interface Step {
  readonly faults: readonly string[];
  readonly details: readonly string[];
  readonly holdMs: number;
  /** The time until every worker and every producer had made progress again; undefined if they did not in time. */
  readonly flowMs: number | undefined;
  /** The name of the process that was last. */
  readonly last: string | undefined;
  /** The largest share of a core that a process used while the database was unreachable. */
  readonly cpu: number | undefined;
}

export interface ConductorOptions {
  readonly seed: number;
  readonly kinds: readonly FaultKind[];
  /** The time after the first step until which new steps begin. */
  readonly forMs: number;
  /** The share of steps with two faults at once. */
  readonly pairs: number;
  onStep(step: Step): void;
}

export class Conductor {
  readonly #world: World;
  readonly #options: ConductorOptions;
  readonly #random: Random;
  readonly steps: Step[] = [];
  samples = 0;
  staleProbes = 0;
  #isOver = false;

  constructor(world: World, options: ConductorOptions) {
    this.#world = world;
    this.#options = options;
    this.#random = randomFrom(options.seed);
  }

  async run(): Promise<void> {
    const sampling = this.#sample();
    const until = performance.now() + this.#options.forMs;
    let round: FaultKind[] = [];
    do {
      if (round.length === 0) round = this.#random.some(this.#options.kinds, this.#options.kinds.length);
      const kinds = round.splice(0, round.length > 1 && this.#random.chance(this.#options.pairs) ? 2 : 1);
      const step = await this.#step(kinds);
      this.steps.push(step);
      this.#options.onStep(step);
    } while (
      performance.now() < until ||
      (round.length > 0 && this.steps.length < this.#options.kinds.length)
    );
    this.#isOver = true;
    await sampling;
  }

  async #step(kinds: readonly FaultKind[]): Promise<Step> {
    // A separate random source for each fault: how often a fault draws a number depends on timing, and must not change
    // later steps.
    const number = this.#options.seed * 10_007 + this.steps.length * 4;
    const made = kinds.map((kind, n) => kind.make(this.#world, randomFrom(number + n)));
    // The server goes down last and is healed first, because other faults need it to be injected and healed.
    const faults = made.sort((a, b) => Number(isServer(a)) - Number(isServer(b)));
    const calmMs = this.#random.below(2_000);
    const details: string[] = [];
    for (const fault of faults)
      details.push(await this.#attempt(() => fault.inject(), `inject ${fault.name}`));
    const holdMs = Math.max(...faults.map((fault) => fault.holdMs));
    const cpu = await this.#hold(faults, holdMs);
    for (const fault of faults.toReversed()) {
      await this.#attempt(async () => {
        await fault.heal();
        return "";
      }, `heal ${fault.name}`);
    }
    const { ms: flowMs, last, missing } = await flowAgain(this.#world);
    for (const who of missing) {
      const names = kinds.map(({ name }) => name).join(" and ");
      this.#world.violated("flow", `a minute after ${names} there was no progress of ${who}`);
    }
    this.staleProbes += await probeFences(this.#world, randomFrom(number + 3));
    await sleep(calmMs);
    return { faults: faults.map(({ name }) => name), details, holdMs, flowMs, last, cpu };
  }

  /** Waits while the faults last, and measures which processes use CPU although the database is unreachable. */
  async #hold(faults: readonly Fault[], holdMs: number): Promise<number | undefined> {
    if (!faults.some(({ silences }) => silences) || holdMs < minWatchMs + 500) {
      await sleep(holdMs);
      return undefined;
    }
    // Let calls end that were already in flight.
    await sleep(500);
    const watched = [...this.#world.workers.map(({ child }) => child), ...this.#world.producers];
    const before = watched.map((child) => child.cpuSeconds());
    const from = performance.now();
    await sleep(holdMs - 500);
    const seconds = (performance.now() - from) / 1000;
    return Math.max(...watched.map((child, n) => this.#busy(child, before[n], seconds)));
  }

  /** Retries an action that a second fault may block for a moment. If it keeps failing, reports it and goes on. */
  async #attempt(act: () => Promise<string>, what: string): Promise<string> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await act();
      } catch (error) {
        if (tries === 20) {
          this.#world.violated("conductor", `could not ${what}: ${error}`);
          return "failed";
        }
        await sleep(500);
      }
    }
  }

  #busy(child: Child, before: number | undefined, seconds: number): number {
    const after = child.cpuSeconds();
    if (before === undefined || after === undefined || child.isOver) return 0;
    const share = (after - before) / seconds;
    if (share > maxCpuShare) {
      const percent = Math.round(share * 100);
      const what = `${child.name} used ${percent} % of a core for ${seconds.toFixed(1)} s while the database was unreachable`;
      this.#world.violated("no process spins", what);
    }
    return share;
  }

  /** Looks repeatedly whether a limit is exceeded, or a job is in two rooms. */
  async #sample(): Promise<void> {
    while (!this.#isOver) {
      try {
        for (const check of [limitsNow, roomsNow])
          this.#world.violations.push(...(await findViolations(this.#world.direct, check)));
        this.samples += 1;
      } catch {
        // The server is down.
      }
      await sleep(200);
    }
  }
}

function isServer({ name }: Fault): boolean {
  return name.startsWith("postgres");
}
