/** Moves of large payloads: no call has more of them than the database and the client can take. */
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import { expect, onTestFinished } from "vitest";
import { test as base } from "../../../test/database.ts";
import { startRedis } from "../../../test/redis.ts";
import { BullForge, moveToPostgres, moveToRedis } from "../src/index.ts";
import { hasRedis, newPrefix, T } from "./support/work.ts";

const large = defineJob({ type: "large" });
const types = ["large"];

base.skipIf(!hasRedis)(
  "a move of many large payloads sends them in parts",
  { timeout: 120_000 },
  async ({ db }) => {
    await using server = await startRedis();
    const postgres = new JobForge({ database: db.url });
    const redis = new BullForge({ redis: server.url, prefix: newPrefix() });
    onTestFinished(async () => {
      await Promise.all([postgres.close(), redis.close()]);
    });
    const jobs = Array.from({ length: 20 }, (_, n) => ({
      job: large,
      input: { n, text: "x".repeat(1_000_000) },
    }));
    for (let from = 0; from < jobs.length; from += 5)
      await postgres.enqueueMany(jobs.slice(from, from + 5), { tenantId: T });

    const sizes: number[] = [];
    const { transport } = postgres;
    const measured: Pick<JobForge, "transport"> = {
      transport: {
        ...transport,
        close: () => transport.close(),
        call: async (name, args, options) => {
          const result = await transport.call<never>(name, args, options);
          sizes.push(JSON.stringify(args).length + JSON.stringify(result ?? null).length);
          return result;
        },
      },
    };
    expect(await moveToRedis(measured, redis, { types })).toEqual({ moved: 20 });
    expect(Math.max(...sizes)).toBeLessThan(17_000_000);
    sizes.length = 0;
    expect(await moveToPostgres(measured, redis, { types })).toEqual({ moved: 20 });
    expect(Math.max(...sizes)).toBeLessThan(9_000_000);
    const arrived =
      "select count(distinct payload ->> 'n')::int from jobforge_jobs where length(payload ->> 'text') = 1000000";
    expect(await db.value(arrived)).toBe(20);
  },
);
