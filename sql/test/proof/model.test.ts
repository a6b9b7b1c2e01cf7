/**
 * Random work of several workers and tenants, checked step by step against a small reference model. The seeds are
 * fixed, so that every test run does the same. JOBFORGE_MODEL_RUNS plays that many scenarios of a new seed instead, and
 * JOBFORGE_MODEL_SEED those of a given seed. JOBFORGE_MODEL_PATH, from a reproduction, plays only that scenario.
 */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { playCampaign } from "./model/campaign.ts";
import { prepareKernel } from "./model/kernel.ts";

const chosen = (name: string): number | undefined => {
  const text = process.env[`JOBFORGE_MODEL_${name}`];
  return text === undefined ? undefined : Number(text);
};

const path = process.env["JOBFORGE_MODEL_PATH"];
const seed = chosen("SEED");
const runs = chosen("RUNS");
const steps = chosen("STEPS") ?? 120;

const usual: readonly number[] = [2, 4];
const fresh: readonly number[] = [Date.now() % 2 ** 31];
const seeds = seed !== undefined ? [seed] : runs !== undefined ? fresh : usual;

test.for([...seeds])(
  "the kernel does random work of seed %i as the model predicts",
  { timeout: 3_600_000 },
  async (drawn, { db }) => {
    const kernel = await prepareKernel(db);
    const result = await playCampaign(kernel, {
      seed: drawn,
      runs: runs ?? 25,
      steps,
      ...(path === undefined ? {} : { path }),
    });
    expect(result.reproduction, result.reproduction ?? "").toBeNull();
    // Scenarios whose steps are all idle would prove nothing.
    if (path === undefined && runs === undefined) expect(result.steps).toBeGreaterThan(1000);
  },
);
