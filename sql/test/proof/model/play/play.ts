/** Plays a scenario step by step, and compares the kernel with the model after each step. */

import type { Kernel } from "../kernel.ts";
import type { Scenario } from "../scenario.ts";
import type { Step } from "../steps.ts";
import {
  playCancel,
  playEnqueue,
  playEnqueueMany,
  playMany,
  playReschedule,
  playUpdate,
} from "./application.ts";
import { playClaim, playRetrySettle, playSettle } from "./claims.ts";
import { adoptRetention, compareAll, compareTouched } from "./compare.ts";
import {
  playFinish,
  playGate,
  playMaintain,
  playPolicy,
  playRead,
  playSavepoint,
  playTravel,
  playTrespass,
} from "./operate.ts";
import { playBeat, playBeatWorker, playComplete, playCrash, playDefer } from "./runs.ts";
import { Divergence, idle, Stage } from "./stage.ts";

/** The time that passes with every step, in milliseconds. */
const stepDuration = 7;
/** The number of steps after which everything is compared. */
const compareAllEvery = 20;

/** A failed scenario: a description of its steps until then, and what was wrong. */
export class FailedScenario extends Error {
  readonly story: readonly string[];

  constructor(story: readonly string[], cause: Error) {
    super(cause.message, { cause });
    this.story = story;
  }
}

/** Plays a scenario in a reset database. Throws a FailedScenario. Returns how many steps were not idle. */
export async function play(kernel: Kernel, scenario: Scenario): Promise<number> {
  await kernel.reset();
  const stage = new Stage(kernel, scenario.breadth);
  const story: string[] = [];
  try {
    for (const [index, step] of scenario.steps.entries()) {
      stage.shared.now += stepDuration;
      stage.doing = step.kind;
      const outcome = await playStep(stage, step);
      if (!outcome.startsWith(idle)) story.push(outcome === "" ? stage.doing : `${stage.doing} → ${outcome}`);
      stage.doing = "";
      if (["maintain", "beatWorker", "travel"].includes(step.kind)) await adoptRetention(stage);
      await (index % compareAllEvery === compareAllEvery - 1 ? compareAll(stage) : compareTouched(stage));
    }
    for (const via of ["application", "handler"] as const) await stage.end(via, "rollback");
    await compareAll(stage);
  } catch (error) {
    if (!(error instanceof Divergence)) throw error;
    throw new FailedScenario(stage.doing === "" ? story : [...story, stage.doing], error);
  }
  return story.length;
}

async function playStep(stage: Stage, step: Step): Promise<string> {
  switch (step.kind) {
    case "enqueue":
      return await playEnqueue(stage, step);
    case "enqueueMany":
      return await playEnqueueMany(stage, step);
    case "claim":
      return await playClaim(stage, step);
    case "settle":
      return await playSettle(stage, step);
    case "retrySettle":
      return await playRetrySettle(stage, step);
    case "complete":
      return await playComplete(stage, step);
    case "defer":
      return await playDefer(stage, step);
    case "beat":
      return await playBeat(stage, step);
    case "beatWorker":
      return await playBeatWorker(stage, step);
    case "crash":
      return await playCrash(stage, step);
    case "cancel":
      return await playCancel(stage, step);
    case "cancelMany":
    case "rescheduleMany":
      return await playMany(stage, step);
    case "reschedule":
      return await playReschedule(stage, step);
    case "update":
      return await playUpdate(stage, step);
    case "gate":
      return await playGate(stage, step);
    case "policy":
      return await playPolicy(stage, step);
    case "maintain":
      return await playMaintain(stage);
    case "travel":
      return await playTravel(stage, step);
    case "savepoint":
      return await playSavepoint(stage, step);
    case "finish":
      return await playFinish(stage, step);
    case "trespass":
      return await playTrespass(stage, step);
    case "read":
      return await playRead(stage, step);
  }
}
