/** Makes tests of scenarios: one program per target, one database per scenario. */

import type { TestDatabase } from "@jobforge/testing";
import { afterAll, beforeAll, expect } from "vitest";
import { test } from "../../test/database.ts";
import { expectFailure, knownFailing } from "./known-failing.ts";
import { type Loaded, loadScenarios } from "./load.ts";
import { isOnRedis, notSupported } from "./not-supported.ts";
import { type Cast, Play } from "./play.ts";
import { Program } from "./program.ts";
import { RedisHouse, RedisStage } from "./redis-stage.ts";
import { type Scene, Stage } from "./stage.ts";
import { commandOf, type Language, missing, type Target, targets } from "./targets.ts";

/** Longer than the runner waits for a program, which then says what it has waited for. */
export const timeoutMs = 300_000;

/** Scenarios in which programs of two languages take part. They have a test file of their own. */
export const crossArea = "cross";

/** Plays all scenarios that the target can play. */
export async function playAll(target: Target): Promise<void> {
  const lack = await missing(target);
  if (lack !== undefined) {
    reportMissing(target.name, lack);
    return;
  }
  const scenarios = loadScenarios().filter((loaded) => loaded.area !== crossArea && canPlay(target, loaded));
  const house = new RedisHouse(target.way === "redis-cluster");
  const failing = knownFailing(target.name);
  let main: Program;
  beforeAll(() => {
    main = new Program(commandOf(target.language));
  });
  afterAll(async () => {
    await main.close();
    await house.stop();
  });
  for (const loaded of scenarios) {
    test(titleOf(loaded), { timeout: timeoutMs }, async ({ db }) => {
      const run = (): Promise<void> => play(loaded, target, sceneOf(target, db, house), main);
      await (failing.has(loaded.path) ? expectFailure(loaded.path, run) : run());
    });
  }
}

export function titleOf({ path, scenario }: Loaded): string {
  return `${path}: ${scenario.name}`;
}

/** Whether the target can do what the scenario needs, and has nothing else that speaks against it. */
export function canPlay(target: Target, { path, scenario }: Loaded): boolean {
  if (scenario.needs.some((need) => !target.abilities.includes(need))) return false;
  return !isOnRedis(target) || !notSupported.scenarios.has(path);
}

function sceneOf({ way }: Target, db: TestDatabase, house: RedisHouse): Scene {
  return way === "redis" || way === "redis-cluster" ? new RedisStage(house, db) : new Stage(db, way);
}

async function play({ scenario }: Loaded, target: Target, scene: Scene, main: Program): Promise<void> {
  await using stage = scene;
  await using cast = new Troupe(() => target.language, main);
  await playOn(new Play(scenario, stage, cast, target.abilities), stage);
}

/** Plays a scenario of programs of several languages. Each program is started for it. */
export async function playTogether(
  { scenario }: Loaded,
  languages: Readonly<Record<string, Language>>,
  db: TestDatabase,
): Promise<void> {
  await using stage = new Stage(db, "postgres");
  await using cast = new Troupe((name) => languages[name] ?? "ts");
  await playOn(new Play(scenario, stage, cast, targets["ts-pg"].abilities), stage);
}

async function playOn(play: Play, stage: Scene): Promise<void> {
  try {
    await play.run();
  } finally {
    await stage.endOutage();
    await play.close();
  }
}

/** The programs of one scenario. All but the main one end with it. */
class Troupe implements Cast, AsyncDisposable {
  readonly main: Program | undefined;
  readonly #languageOf: (name: string) => Language;
  readonly #others = new Map<string, Program>();

  constructor(languageOf: (name: string) => Language, main?: Program) {
    this.#languageOf = languageOf;
    this.main = main;
  }

  program(name: string): Program {
    if (name === "main" && this.main !== undefined) return this.main;
    const known = this.#others.get(name) ?? new Program(commandOf(this.#languageOf(name)));
    this.#others.set(name, known);
    return known;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#others.values()) program.signal("SIGKILL");
    await Promise.all([...this.#others.values()].map((program) => program.ended));
  }
}

/** A tool that is missing skips its tests, with a warning, unless it is required. */
export function reportMissing(name: string, lack: string): void {
  if (process.env["JOBFORGE_REQUIRE_TOOLS"] === "1") {
    test(`${name} can run`, () => expect.fail(lack));
    return;
  }
  console.warn(`!! SKIPPED: ${name}. ${lack}`);
  test.skip(`${name} can run`);
}
