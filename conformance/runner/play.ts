/** Plays one scenario on a target, step by step. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { differences } from "./match.ts";
import { CallFailed, type Event, type Program } from "./program.ts";
import { type Ability, type Caller, type Scenario, type Step, workerVerbs } from "./scenario.ts";
import type { Scene } from "./stage.ts";
import { resolve, type Scope, secondsOf } from "./values.ts";

/** Gives the programs of a scenario. They are started when a step names them. */
export interface Cast {
  program(name: string): Program;
  /** The program that goes on after the scenario. */
  readonly main: Program | undefined;
}

const patienceMs = 120_000;

type StepOf<Key extends string> = Extract<Step, Readonly<Record<Key, unknown>>>;
type Outcome = { readonly ok: unknown } | { readonly failed: CallFailed };

const ofWorkers: ReadonlySet<string> = new Set(workerVerbs);

export class Play {
  readonly #scenario: Scenario;
  readonly #stage: Scene;
  readonly #cast: Cast;
  readonly #saved = new Map<string, unknown>();
  readonly #underWay = new Map<string, Promise<Outcome>>();
  readonly #connected = new Set<string>();
  readonly #scope: Scope;
  readonly #abilities: readonly Ability[];

  constructor(scenario: Scenario, stage: Scene, cast: Cast, abilities: readonly Ability[]) {
    this.#scenario = scenario;
    this.#stage = stage;
    this.#cast = cast;
    this.#abilities = abilities;
    this.#scope = { saved: this.#saved, now: () => stage.now() };
  }

  async run(): Promise<void> {
    for (const [type, policy] of Object.entries(this.#scenario.policies))
      await this.#stage.setPolicy(type, policy);
    for (const [index, step] of this.#scenario.steps.entries()) {
      if ("needs" in step && !(step.needs ?? []).every((need) => this.#abilities.includes(need))) continue;
      try {
        await this.#step(step);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        throw new Error(`step ${index + 1}, ${JSON.stringify(step).slice(0, 200)}:\n${message}`, {
          cause: error,
        });
      }
    }
  }

  /** Ends what the scenario has left open in the program that goes on. */
  async close(): Promise<void> {
    await this.#cast.main?.request("disconnect", undefined, {});
    this.#cast.main?.forget();
  }

  async #step(step: Step): Promise<void> {
    if ("do" in step) await this.#do(step);
    else if ("await" in step) this.#check(step, await this.#awaited(step.await));
    else if ("rows" in step) await this.#rows(step);
    else if ("sql" in step) await this.#stage.execute(step.sql);
    else if ("event" in step) await this.#event(step);
    else if ("events" in step) await this.#events(step);
    else if ("travel" in step) await this.#travel(secondsOf(step.travel));
    else if ("maintain" in step) await this.#stage.maintain(secondsOf(step.maintain));
    else if ("outage" in step)
      await (step.outage === "begin" ? this.#stage.beginOutage() : this.#stage.endOutage());
    else if ("signal" in step) this.#program(step.by).signal(step.signal);
    else this.#require(step.expect, await this.#program(step.exit).ended);
  }

  async #do(step: StepOf<"do">): Promise<void> {
    const outcome = this.#send(step);
    if (step.later === undefined) this.#check(step, await outcome);
    else this.#underWay.set(step.later, outcome);
  }

  async #send(step: StepOf<"do">): Promise<Outcome> {
    const program = this.#program(step.by);
    const isOfWorker = ofWorkers.has(step.do);
    const on = step.on ?? (isOfWorker ? "worker" : "app");
    await this.#connect(step.by ?? "main", on);
    const { definitions, handlers } = this.#scenario;
    const needed = isOfWorker ? { definitions, handlers } : { definitions };
    const args = resolve({ ...needed, ...step.with }, this.#scope);
    const calls = Array.from({ length: step.times ?? 1 }, () => program.request(step.do, on, args));
    try {
      const replies = await Promise.all(calls);
      return { ok: step.times === undefined ? replies[0] : replies };
    } catch (error) {
      if (error instanceof CallFailed) return { failed: error };
      throw error;
    }
  }

  async #awaited(name: string): Promise<Outcome> {
    const outcome = this.#underWay.get(name);
    if (outcome === undefined) throw new Error(`no step before has "later: ${name}"`);
    return await outcome;
  }

  #check(step: Pick<StepOf<"do">, "as" | "expect" | "error">, outcome: Outcome): void {
    if (step.error !== undefined) {
      if ("ok" in outcome)
        throw new Error(`the call should fail, but returned ${JSON.stringify(outcome.ok)}`);
      this.#require(step.error, outcome.failed.details);
      return;
    }
    if ("failed" in outcome) throw outcome.failed;
    if (step.as !== undefined) this.#saved.set(step.as, outcome.ok);
    if (step.expect !== undefined) this.#require(step.expect, outcome.ok);
  }

  async #connect(name: string, caller: Caller): Promise<void> {
    const key = `${name} ${caller}`;
    if (this.#connected.has(key)) return;
    this.#connected.add(key);
    await this.#program(name).request("connect", caller, await this.#stage.addressOf(caller));
  }

  async #rows(step: StepOf<"rows">): Promise<void> {
    const deadline = Date.now() + (step.eventually ? patienceMs : 0);
    for (;;) {
      const rows = await this.#read(step);
      const found = this.#differences(step.expect, rows);
      if (found.length === 0) {
        if (step.as !== undefined) this.#saved.set(step.as, rows);
        return;
      }
      if (Date.now() >= deadline) throw new Error(found.join("\n"));
      await sleep(20);
    }
  }

  async #read({ rows, where = {}, order }: StepOf<"rows">): Promise<unknown> {
    const conditions = Object.entries(resolve(where, this.#scope) as Record<string, unknown>);
    const tests = conditions.map(([column], index) => `${pg.escapeIdentifier(column)}::text = $${index + 1}`);
    const sql = `select coalesce(json_agg(r), '[]') from (select * from ${rows}
      ${tests.length > 0 ? `where ${tests.join(" and ")}` : ""} ${order === undefined ? "" : `order by ${order}`}) r`;
    return await this.#stage.value(
      sql,
      conditions.map(([, value]) => String(value)),
    );
  }

  async #event(step: StepOf<"event">): Promise<void> {
    const program = this.#program(step.by);
    const fits = (event: Event): boolean =>
      event.event === step.event && this.#differences(step.expect, event).length === 0;
    const found = await program.until(
      (events) => {
        const place = events.findIndex(fits);
        return place < 0 ? undefined : events.splice(place, 1)[0];
      },
      () => `no event ${step.event} as expected`,
    );
    if (step.as !== undefined) this.#saved.set(step.as, found);
  }

  async #events(step: StepOf<"events">): Promise<void> {
    let found: string[] = [];
    await this.#program(step.by).until(
      (events) => {
        const chosen = events.filter(
          (event) => event.event === step.events && this.#differences(step.where ?? {}, event).length === 0,
        );
        found = this.#differences(step.expect, chosen);
        return found.length === 0 || undefined;
      },
      () => found.join("\n"),
    );
  }

  async #travel(seconds: number): Promise<void> {
    for (const name of new Set([...this.#connected].map((key) => key.split(" ")[0] ?? "")))
      await this.#program(name).request("disconnect", undefined, {});
    this.#connected.clear();
    await this.#stage.travel(seconds);
  }

  #program(name = "main"): Program {
    return this.#cast.program(name);
  }

  #require(expected: unknown, actual: unknown): void {
    const found = this.#differences(expected, actual);
    if (found.length > 0) throw new Error(found.join("\n"));
  }

  #differences(expected: unknown, actual: unknown): string[] {
    return differences(resolve(expected, this.#scope), actual, { now: this.#scope.now() });
  }
}
