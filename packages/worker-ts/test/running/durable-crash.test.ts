/** A worker process that is killed in the middle of durable steps: another worker goes on behind them. */
import { appendFileSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineJob, typed } from "@jobforge/sdk-ts";
import { expect, onTestFinished } from "vitest";
import { startProcess } from "../support/child.ts";
import { attemptsOf } from "../support/jobs.ts";
import { startWorker, T, test } from "../support/work.ts";

const durable = defineJob({
  type: "durable",
  input: typed<{ calls: string }>(),
  output: typed<string[]>(),
});

test("the steps that a killed worker had saved are not called again", async ({ db, forge }) => {
  const folder = await mkdtemp(join(tmpdir(), "jobforge-durable-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const calls = join(folder, "calls");
  await forge.policies.set("durable", { leaseMs: 1_000 });
  const { id } = await forge.enqueue(durable, { calls }, { tenantId: T });
  const child = startProcess(db.url);
  await child.logged(({ message }) => message === "Two steps are done");
  child.process.kill("SIGKILL");
  expect(await child.ended).toEqual({ code: null, signal: "SIGKILL" });
  const handler = durable.handle(async (_, job) => {
    const call = (name: string) => (): string => {
      appendFileSync(calls, `${name}\n`);
      return name;
    };
    for (const name of ["one", "two", "three"]) await job.step(name, call(name));
    return readFileSync(calls, "utf8").trim().split("\n");
  });
  await startWorker(forge, { handlers: [handler] });
  expect(await forge.result(id, { tenantId: T })).toEqual(["one", "two", "three"]);
  expect(await attemptsOf(db, id)).toEqual(["lost", "succeeded"]);
});
