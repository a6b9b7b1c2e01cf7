/** Types flow from a definition to everything made of it. What must not compile says so. */

import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import type { Knex } from "knex";
import type { Transaction as KyselyTransaction } from "kysely";
import type { ClientBase, Pool } from "pg";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  defineJob,
  defineSchedule,
  type EnqueuedJob,
  type Job,
  type JobContext,
  type JobDefinition,
  JobForge,
  type JobHandler,
  type JobInput,
  type JobOutput,
  type JobPayload,
  type PolicySync,
  type PreviousRun,
  type Schedule,
  type ScheduleDefinition,
  type ScheduleSync,
  type Transaction,
  typed,
} from "../src/index.ts";
import { cleanUp, countWords, resize, sendMail } from "./support/jobs.ts";

const forge: JobForge = new JobForge({ database: "postgres://nowhere" });
const tenantId = "11111111-1111-4111-8111-111111111111";

/** Code that is checked, not run. */
function never(_: () => unknown): void {}

describe("a definition", () => {
  test("has an input, a payload for handlers and an output", () => {
    expectTypeOf<JobInput<typeof sendMail>>().toEqualTypeOf<{ to: string; subject: string; at?: unknown }>();
    expectTypeOf<JobPayload<typeof sendMail>>().toEqualTypeOf<{
      to: string;
      subject: string;
      at?: Date | undefined;
    }>();
    expectTypeOf<JobOutput<typeof sendMail>>().toEqualTypeOf<{ messageId: string }>();
    expectTypeOf<JobOutput<typeof countWords>>().toEqualTypeOf<number>();
    expectTypeOf<JobInput<typeof cleanUp>>().toBeUnknown();
    expectTypeOf<JobInput<typeof resize>>().toEqualTypeOf<{ width: number }>();
    expectTypeOf(sendMail.type).toEqualTypeOf<"mail.send">();
    expectTypeOf(sendMail).toExtend<JobDefinition>();
  });

  test("types its functions and its handlers", () => {
    never(() =>
      defineJob({
        type: "x",
        input: z.object({ n: z.coerce.number() }),
        dedupe: (input) => {
          expectTypeOf(input).toEqualTypeOf<{ n: number }>();
          return String(input.n);
        },
      }),
    );
    const handler = sendMail.handle(async (input, job) => {
      expectTypeOf(input).toEqualTypeOf<JobPayload<typeof sendMail>>();
      expectTypeOf(job).toEqualTypeOf<JobContext>();
      return { messageId: "m" };
    });
    expectTypeOf(handler).toEqualTypeOf<JobHandler<"mail.send">>();
    expectTypeOf<readonly JobHandler[]>().toExtend<readonly JobHandler[]>();
    const mixed: readonly JobHandler[] = [handler, cleanUp.handle(() => undefined)];
    expectTypeOf(mixed).toEqualTypeOf<readonly JobHandler[]>();
    // @ts-expect-error: the output has a messageId
    never(() => sendMail.handle(async () => ({ id: 1 })));
    // @ts-expect-error: a batch answers one output per job
    never(() => sendMail.handleBatch(5, async () => ({ messageId: "m" })));
    never(() => sendMail.handleBatch(5, async (items) => items.map(() => new Error("all of them"))));
  });
});

describe("a client", () => {
  test("takes the definition's input and answers typed handles", () => {
    never(async () => {
      const handle = await forge.enqueue(sendMail, { to: "a", subject: "b" }, { tenantId });
      expectTypeOf(handle).toEqualTypeOf<EnqueuedJob<typeof sendMail>>();
      expectTypeOf(await handle.result()).toEqualTypeOf<{ messageId: string }>();
      expectTypeOf(await handle.get()).toEqualTypeOf<Job<typeof sendMail> | undefined>();
      const maybe: string | undefined = undefined;
      await forge.enqueue(cleanUp, {}, { tenantId, idempotencyKey: maybe, runAt: undefined });
      // @ts-expect-error: the subject is missing
      await forge.enqueue(sendMail, { to: "a" }, { tenantId });
      // @ts-expect-error: the tenant is missing
      await forge.enqueue(sendMail, { to: "a", subject: "b" }, {});
      // @ts-expect-error: there is no such option
      await forge.enqueue(sendMail, { to: "a", subject: "b" }, { tenantId, prio: 5 });
      // @ts-expect-error: a payload is checked here as well
      await handle.update({ payload: { to: "a" } });
    });
  });

  test("types each of many jobs by its own definition", () => {
    never(async () => {
      const handles = await forge.enqueueMany([
        { job: sendMail, input: { to: "a", subject: "b" }, tenantId },
        { job: countWords, input: { text: "a" }, priority: 3 },
      ]);
      expectTypeOf(handles).toEqualTypeOf<[EnqueuedJob<typeof sendMail>, EnqueuedJob<typeof countWords>]>();
      const list = [1, 2].map((width) => ({ job: resize, input: { width }, idempotencyKey: `${width}` }));
      expectTypeOf(await forge.enqueueMany(list, { tenantId })).toEqualTypeOf<EnqueuedJob<typeof resize>[]>();
      const first = { job: resize, input: { width: 1 } };
      // @ts-expect-error: the second has another input
      await forge.enqueueMany([first, { job: countWords, input: { width: 1 } }]);
    });
  });

  test("lists jobs with payloads as they come out of JSON, told apart by type", () => {
    never(async () => {
      const dated = defineJob({ type: "dated", input: typed<{ at: Date; tags?: string[] }>() });
      const job = await forge.get("id", { tenantId, job: dated });
      expectTypeOf(job?.payload).toEqualTypeOf<{ at: string; tags?: string[] } | undefined>();
      for await (const each of forge.list({ tenantId, job: [sendMail, resize] })) {
        if (each.type === "image.resize") expectTypeOf(each.payload).toEqualTypeOf<{ width: number }>();
        else expectTypeOf(each.payload.to).toBeString();
      }
      const { items } = await forge.jobs.search().page();
      expectTypeOf(items[0]?.payload).toBeUnknown();
    });
  });

  test("takes the transactions of every library, and of nothing else", () => {
    expectTypeOf<ClientBase>().toExtend<Transaction>();
    expectTypeOf<Parameters<Parameters<NodePgDatabase["transaction"]>[0]>[0]>().toExtend<Transaction>();
    expectTypeOf<KyselyTransaction<{ orders: { id: number } }>>().toExtend<Transaction>();
    expectTypeOf<Knex.Transaction>().toExtend<Transaction>();
    expectTypeOf<{
      $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): Promise<T>;
    }>().toExtend<Transaction>();
    expectTypeOf<{ begin(): void }>().not.toExtend<Transaction>();
    expectTypeOf<Pool>().toExtend<
      ConstructorParameters<typeof JobForge>[0] extends infer O
        ? O extends { database: infer D }
          ? D
          : never
        : never
    >();
  });
});

describe("a schedule", () => {
  const weekly = { cron: "0 9 * * mon", payload: { to: "a", subject: "b" } };

  test("is declared with its job's input, where the job needs one", () => {
    const declared = defineSchedule({ job: sendMail, key: "weekly", ...weekly, timezone: "Europe/Berlin" });
    expectTypeOf(declared).toEqualTypeOf<ScheduleDefinition<typeof sendMail>>();
    expectTypeOf(declared).toExtend<ScheduleDefinition>();
    never(() => defineSchedule({ job: cleanUp, key: "k", dynamic: true }));
    // @ts-expect-error: the input is missing
    never(() => defineSchedule({ job: sendMail, key: "k", every: "1h" }));
    // @ts-expect-error: the subject is missing
    never(() => defineSchedule({ job: sendMail, key: "k", every: "1h", payload: { to: "a" } }));
    // @ts-expect-error: it has no rhythm
    never(() => defineSchedule({ job: cleanUp, key: "k" }));
    // @ts-expect-error: it has two
    never(() => defineSchedule({ job: cleanUp, key: "k", every: "1h", cron: "@daily" }));
    // @ts-expect-error: a time zone belongs to cron
    never(() => defineSchedule({ job: cleanUp, key: "k", every: "1h", timezone: "UTC" }));
    // @ts-expect-error: it would move the next run at every start
    never(() => defineSchedule({ job: cleanUp, key: "k", dynamic: true, nextRunAt: new Date() }));
  });

  test("is synchronized with jobs, for an application", () => {
    never(async () => {
      const declared = defineSchedule({ job: sendMail, key: "weekly", ...weekly });
      expectTypeOf(await forge.sync([sendMail])).toEqualTypeOf<PolicySync[]>();
      expectTypeOf(await forge.sync([sendMail, declared], { app: "a" })).toEqualTypeOf<
        (PolicySync | ScheduleSync)[]
      >();
      // @ts-expect-error: whose schedules are they?
      await forge.sync([sendMail, declared], { dryRun: true });
    });
  });

  test("types what comes back by its job", () => {
    never(async () => {
      const { schedules } = forge;
      const ensured = await schedules.ensure(resize, "k", { tenantId, dynamic: true, payload: { width: 1 } });
      expectTypeOf(ensured).toExtend<Schedule<typeof resize>>();
      expectTypeOf(ensured.payload).toEqualTypeOf<{ width: number }>();
      expectTypeOf(ensured.outcome).toEqualTypeOf<"created" | "existing" | "updated">();
      for await (const run of schedules.runs(resize, "k", { tenantId }))
        expectTypeOf(run).toEqualTypeOf<Job<typeof resize>>();
      for await (const each of schedules.list({ tenantId, job: [sendMail, resize] }))
        if (each.type === "image.resize") expectTypeOf(each.payload).toEqualTypeOf<{ width: number }>();
      await schedules.update(resize, "k", { payload: { width: 2 }, endsAt: null }, { tenantId });
      // @ts-expect-error: a payload is checked here as well
      await schedules.update(resize, "k", { payload: { height: 2 } }, { tenantId });
      // @ts-expect-error: the tenant is missing
      await schedules.ensure(resize, "k", { dynamic: true, payload: { width: 1 } });
      // @ts-expect-error: there is no such option
      await schedules.ensure(cleanUp, "k", { tenantId, dynamic: true, overlaps: "skip" });
    });
  });

  test("is locked in a transaction, and nowhere else", () => {
    never(async (tx: ClientBase = {} as ClientBase) => {
      await forge.with(tx).schedules.lock(cleanUp, "k", { tenantId });
      // @ts-expect-error: the lock would be gone at once
      await forge.schedules.lock(cleanUp, "k", { tenantId });
    });
  });

  test("is known to the handler of its runs", () => {
    cleanUp.handle((_, job) => {
      expectTypeOf(job.scheduledFor).toEqualTypeOf<Date | undefined>();
      expectTypeOf(job.schedule?.previousRun).toEqualTypeOf<PreviousRun | undefined>();
      expectTypeOf(job.nextRun).parameters.toEqualTypeOf<[number | Date]>();
    });
  });
});
