/** Steps of workers on their runs: complete, defer, heartbeats and crashes. */

import { beat, beatWorker } from "../leases.ts";
import { type End, endRun, heldJob, plainEnd, type RunReference } from "../runs.ts";
import type { Model } from "../state.ts";
import type { StepOf } from "../steps.ts";
import { requireNextDue } from "./claims.ts";
import { describeReport, endOf, forgetRuns, shownRun, typesOf } from "./reports.ts";
import { time } from "./specs.ts";
import { idle, type Stage, same } from "./stage.ts";

/** Compares the result of complete and defer. */
function requireEnded(model: Model, name: string, row: unknown): string {
  const answer = row as { status: string; run_at: string };
  const job = model.job(name);
  same("the status", answer.status, job.status);
  same("run_at", Date.parse(answer.run_at), job.runAt);
  return job.status;
}

export async function playComplete(stage: Stage, step: StepOf<"complete">): Promise<string> {
  const process = stage.busyProcess(step.worker);
  const meant = stage.pickRun(process, step.run);
  if (meant === undefined) return idle;
  const drawn = endOf(stage, step.end);
  const status = drawn.status === "succeeded" ? "succeeded" : "failed";
  const end: End = { ...drawn, status, children: [], at: status === "failed" ? drawn.at : null };
  const run = { name: meant.name, attempt: step.hasAttempt ? meant.attempt : null };
  const isApart = step.isInTransaction && process.bound === null;
  const via = isApart ? "handler" : "direct";
  const bound = isApart ? null : process.bound;
  stage.doing = `${process.name} completes ${describeReport(stage, { run, end })}${isApart ? " in a transaction" : ""}`;
  const outcome = await stage.perform(
    via,
    {
      session: isApart ? "handler" : process.session,
      sql: `select jobforge_complete_job($1, $2, $3, $4, $5, $6, $7, p_retry => $8, p_retry_at => $9,
        p_cost_cents => $10) as answer`,
      values: [
        stage.idOf(run.name),
        process.name,
        status,
        end.message === null ? null : JSON.stringify({ message: end.message }),
        end.outcome?.value == null ? null : JSON.stringify(end.outcome.value),
        end.outcome?.reference ?? null,
        run.attempt,
        end.retry,
        time(end.at),
        end.cost,
      ],
    },
    (model) => endRun(model, heldJob(model, process.name, run, bound), end),
    (after, [row], model) => requireEnded(model, after.name, row),
  );
  if (!outcome.startsWith(idle)) forgetRuns(stage, process, [meant]);
  return outcome;
}

export async function playDefer(stage: Stage, step: StepOf<"defer">): Promise<string> {
  const process = stage.busyProcess(step.worker);
  const meant = stage.pickRun(process, step.run);
  if (meant === undefined) return idle;
  const run = { name: meant.name, attempt: step.hasAttempt ? meant.attempt : null };
  const end: End = { ...plainEnd, status: "deferred", at: stage.now + step.in, counts: step.counts };
  stage.doing = `${process.name} defers ${describeReport(stage, { run, end })}`;
  const outcome = await stage.perform(
    "direct",
    {
      session: process.session,
      sql: "select jobforge_defer_job($1, $2, $3, $4, $5) as answer",
      values: [stage.idOf(run.name), process.name, time(end.at), run.attempt, step.counts],
    },
    (model) => endRun(model, heldJob(model, process.name, run, process.bound), end),
    (after, [row], model) => requireEnded(model, after.name, row),
  );
  if (!outcome.startsWith(idle)) forgetRuns(stage, process, [meant]);
  return outcome;
}

export async function playBeat(stage: Stage, step: StepOf<"beat">): Promise<string> {
  const process = stage.busyProcess(step.worker);
  const meant = stage.pickRun(process, step.run);
  if (meant === undefined) return idle;
  const run = { name: meant.name, attempt: step.hasAttempt ? meant.attempt : null };
  const isPlain = step.progress === null;
  stage.doing = `${process.name} ${isPlain ? "beats for" : "reports progress of"} ${shownRun(run)}`;
  return await stage.perform(
    "direct",
    {
      session: process.session,
      sql: isPlain
        ? "select jobforge_heartbeat_job($1, $2, $3) as answer"
        : "select jobforge_progress_job($1, $2, p_attempt => $3, p_progress => $4) as answer",
      values: [stage.idOf(run.name), process.name, run.attempt, ...(isPlain ? [] : [String(step.progress)])],
    },
    (model) => beat(model, heldJob(model, process.name, run, process.bound), step.progress),
    (isCanceled, [row]) => {
      const { cancel_requested, heartbeat_at } = row as { cancel_requested: boolean; heartbeat_at: string };
      same("the result", [cancel_requested, Date.parse(heartbeat_at)], [isCanceled, stage.now]);
      return isCanceled ? "cancel requested" : "alive";
    },
  );
}

export async function playBeatWorker(stage: Stage, step: StepOf<"beatWorker">): Promise<string> {
  const process = stage.process(step.worker);
  const types = typesOf(stage, step.types);
  const said = { all: process.held, none: [], unsaid: null };
  const held = said[step.held];
  const asIds = (runs: readonly RunReference[]): { id: string; attempt: number | null }[] =>
    runs.map((run) => ({ id: stage.idOf(run.name), attempt: run.attempt }));
  const info = {
    instance: String(process.instance),
    ...(types === null ? {} : { types }),
    ...(held === null ? {} : { held: asIds(held) }),
  };
  const { name: worker, bound } = process;
  const names = held?.map(shownRun).join(", ");
  stage.doing = `${worker} beats as instance ${process.instance}, holds ${names === "" ? "nothing" : (names ?? "unsaid")}`;
  return await stage.perform(
    "direct",
    {
      session: process.session,
      sql: "select jobforge_heartbeat_worker($1, $2) as answer",
      values: [worker, JSON.stringify(info)],
    },
    (model) => beatWorker(model, { worker, bound, instance: info.instance, held }),
    (predicted, [row], model) => {
      const answer = row as { cancel: unknown[]; lost: unknown[]; next_due_at: string | null };
      same("cancel", sorted(answer.cancel), sorted(asIds(predicted.cancel)));
      same("lost", sorted(answer.lost), sorted(asIds(predicted.lost)));
      const nextDue = answer.next_due_at === null ? null : Date.parse(answer.next_due_at);
      requireNextDue(model, types, bound, nextDue);
      forgetRuns(stage, process, predicted.lost);
      const [cancel, lost] = [predicted.cancel, predicted.lost].map((runs) => runs.map(shownRun).join(", "));
      return `cancel ${cancel || "none"}, lost ${lost || "none"}`;
    },
  );
}

function sorted(runs: readonly unknown[]): string[] {
  return runs
    .map((run) => {
      const { id, attempt } = run as { id: unknown; attempt: unknown };
      return `${id}/${attempt}`;
    })
    .sort();
}

/** The process crashes, and restarts under its old name without knowledge of its runs. */
export async function playCrash(stage: Stage, step: StepOf<"crash">): Promise<string> {
  const process = stage.process(step.worker);
  const held = process.held.map(shownRun).join(", ");
  forgetRuns(stage, process, process.held);
  process.instance += 1;
  process.hint = null;
  process.sent = null;
  stage.doing = `${process.name} crashes, holding ${held || "nothing"}`;
  return "";
}
