/**
 * Lets faults happen one after the other, sometimes two at once, and looks after each whether work flows again. The seed decides what happens
 * and how badly; how processes interleave with it is the machine's business, as in life.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Random, randomFrom } from "../../sql/test/support/random.ts";
import { findViolations, limitsNow } from "./checks/index.ts";
import type { Fault, FaultKind } from "./faults/fault.ts";
import { probeFences } from "./fences.ts";
import { flowAgain } from "./flow-again.ts";
import type { Child } from "./processes/child.ts";
import type { World } from "./world.ts";

/** A process that waits for its database may use this share of a core, and must be watched for a while for that. */
const MOST_CPU = 0.5;
const LEAST_WATCH_MS = 1_500;

export interface Step {
  readonly faults: readonly string[];
  readonly details: readonly string[];
  readonly holdMs: number;
  /** Until every worker and every producer had got something done again; undefined when they did not in time. */
  readonly flowMs: number | undefined;
  /** Who was the last of them. */
  readonly last: string | undefined;
  /** The largest share of a core that a process took while nothing came through. */
  readonly cpu: number | undefined;
}

export interface ConductorOptions {
  readonly seed: number;
  readonly kinds: readonly FaultKind[];
  /** How long the last step may begin after the first. */
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
    // A source of its own for each: how often one is asked depends on the moment, and must not change what comes next.
    const number = this.#options.seed * 10_007 + this.steps.length * 4;
    const made = kinds.map((kind, n) => kind.make(this.#world, randomFrom(number + n)));
    // The server goes last and comes back first: others need it to begin and to heal.
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
      this.#world.violated("flow", `a minute after ${names} nothing came of ${who}`);
    }
    this.staleProbes += await probeFences(this.#world, randomFrom(number + 3));
    await sleep(calmMs);
    return { faults: faults.map(({ name }) => name), details, holdMs, flowMs, last, cpu };
  }

  /** Waits while the faults last, and watches who is busy although nothing comes through. */
  async #hold(faults: readonly Fault[], holdMs: number): Promise<number | undefined> {
    if (!faults.some(({ silences }) => silences) || holdMs < LEAST_WATCH_MS + 500) {
      await sleep(holdMs);
      return undefined;
    }
    // What was on its way ends first.
    await sleep(500);
    const watched = [...this.#world.workers.map(({ child }) => child), ...this.#world.producers];
    const before = watched.map((child) => child.cpuSeconds());
    const from = performance.now();
    await sleep(holdMs - 500);
    const seconds = (performance.now() - from) / 1000;
    return Math.max(...watched.map((child, n) => this.#busy(child, before[n], seconds)));
  }

  /** Does something that a second fault may make impossible for a moment. That it cannot be done at all is told, and the run goes on. */
  async #attempt(act: () => Promise<string>, what: string): Promise<string> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await act();
      } catch (error) {
        if (tries === 20) {
          this.#world.violated("conductor", `could not ${what}: ${error}`);
          return "could not be done";
        }
        await sleep(500);
      }
    }
  }

  #busy(child: Child, before: number | undefined, seconds: number): number {
    const after = child.cpuSeconds();
    if (before === undefined || after === undefined || child.isOver) return 0;
    const share = (after - before) / seconds;
    if (share > MOST_CPU) {
      const what = `${child.name} took ${Math.round(share * 100)} % of a core for ${seconds.toFixed(1)} s while nothing came through`;
      this.#world.violated("no process spins", what);
    }
    return share;
  }

  /** Counts what runs, all the time. */
  async #sample(): Promise<void> {
    while (!this.#isOver) {
      try {
        this.#world.violations.push(...(await findViolations(this.#world.direct, limitsNow)));
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
