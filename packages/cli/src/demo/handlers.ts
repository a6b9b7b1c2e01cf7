/** The handlers of `jobforge dev --demo`. Each one shows a way in which a job can finish. */
import { defineJob, type JobHandler, typed } from "@jobforge/sdk-ts";

export const greet = defineJob({ type: "demo.greet", input: typed<{ name: string }>() });
export const report = defineJob({ type: "demo.report", input: typed<{ pages: number }>() });
export const flaky = defineJob({ type: "demo.flaky", retry: { baseMs: 200, maxAttempts: 5 } });
export const broken = defineJob({ type: "demo.broken", retry: { baseMs: 200, maxAttempts: 3 } });
export const patient = defineJob({ type: "demo.patient", retry: { baseMs: 60_000, maxAttempts: 5 } });
export const pulse = defineJob({ type: "demo.pulse" });
export const refused = defineJob({ type: "demo.refused", input: typed<{ to: string }>() });

export const demoHandlers: readonly JobHandler[] = [
  greet.handle(({ name }) => ({ greeting: `Hello, ${name}!` })),
  report.handle(async ({ pages }, { progress, enqueue }) => {
    for (let page = 1; page <= pages; page += 1) await progress({ page, of: pages });
    enqueue(greet, { name: "the reader of the report" });
    return { pages };
  }),
  flaky.handle((_, { attempt }) => {
    if (attempt < 3) throw new Error(`The upstream responded with 503 (attempt ${attempt})`);
    return { attempts: attempt };
  }),
  broken.handle(() => {
    throw new Error("The mail server does not exist");
  }),
  patient.handle((_, { attempt }) => {
    if (attempt < 3) throw new Error("The partner's API is closed for maintenance");
    return { attempts: attempt };
  }),
  pulse.handle(() => ({ alive: true })),
  refused.handle(({ to }, { fail }) => fail(`"${to}" is not a valid address`)),
];
