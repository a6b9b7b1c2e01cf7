/**
 * An application that sends mails and runs workflows with an engine. Its workers obey one switch, `atlas_online`. The
 * audit log has `EMAIL_SENT` for each mail, and `JOB_EXHAUSTED_RETRIES` for each job that failed for good.
 */
import { defineJob, JobForge, typed } from "jobforge";
import { drain } from "jobforge/testing";

const forge = new JobForge({ database: process.env["DATABASE_URL"] });
const tenantId = "a0000000-0000-4000-8000-000000000003";

const sendMail = defineJob({
  type: "EMAIL_SEND",
  input: typed<{ to: string; subject: string }>(),
  retry: "gentle", // after 10, 20 and 40 seconds, so four executions in total
  auditAction: "EMAIL_SENT",
});
const runEngine = defineJob({ type: "ENGINE_RUN", input: typed<{ workflow: string }>() });

const handlers = [
  sendMail.handle(({ to }, job) => {
    if (!to.includes("@")) throw new Error(`${to} is not an address`);
    job.cost(1);
    console.log("mail to", to);
  }),
  runEngine.handle(({ workflow }, job) => {
    console.log("engine", workflow);
    // A sub-task. It is enqueued in the commit that ends this job, and only if this job succeeds.
    job.enqueue(sendMail, { to: "ops@example.com", subject: `${workflow} is done` });
  }),
];

// Atlas is offline: nothing is claimed, and work that runs goes on.
await forge.gates.pause("all", { reason: "atlas_online is false" });
await forge.enqueue(sendMail, { to: "ada@example.com", subject: "Hello" }, { tenantId });
await forge.enqueue(runEngine, { workflow: "invoices" }, { tenantId, priority: 10 });
console.log((await drain(forge, handlers)).claimed); // → 0
await forge.gates.resume("all");
await drain(forge, handlers, { concurrency: 1 });
// → engine invoices
// → mail to ada@example.com
// → mail to ops@example.com

// A mail that can never be sent. Instead of waiting for the retries, an operator runs them at once.
const lost = await forge.enqueue(sendMail, { to: "nowhere", subject: "Hello" }, { tenantId });
for (let execution = 1; execution <= 4; execution += 1) {
  await drain(forge, handlers);
  if (execution < 4) await lost.reschedule();
}
const job = await lost.get();
console.log(job?.status, job?.attempts, job?.lastError); // → dead 4 nowhere is not an address

for (const action of ["EMAIL_SENT", "JOB_EXHAUSTED_RETRIES"]) {
  const { items } = await forge.audit.list({ tenantId, action }).page();
  console.log(action, items.length);
}
// → EMAIL_SENT 2
// → JOB_EXHAUSTED_RETRIES 1
const { items } = await forge.list({ tenantId, job: sendMail, status: "succeeded" }).page();
console.log(items.reduce((cents, { costCents }) => cents + (costCents ?? 0), 0)); // → 2
await forge.close();
