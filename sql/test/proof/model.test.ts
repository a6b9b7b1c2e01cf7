/**
 * Random work of several workers and tenants, checked step by step against a small reference model. The seeds are fixed, so
 * that every run does the same. JOBFORGE_MODEL_RUNS plays that many scenarios of a new seed instead, JOBFORGE_MODEL_SEED of
 * a given one; with JOBFORGE_MODEL_PATH, from a reproduction, only that scenario.
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
  "random work of seed %i goes as the model says",
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
    // A scenario whose steps find nothing to do would prove nothing.
    if (path === undefined && runs === undefined) expect(result.steps).toBeGreaterThan(1000);
  },
);
