/**
 * A small application with a table of jobs: a repository that enqueues, equal jobs that are merged, and a route that
 * runs what is due. The names are those of its design: `JobsRepository`, `success`, `POST /api/jobs/tick`.
 */
import { createTickHandler, defineJob, JobForge, JobForgeJobsRepository, typed } from "jobforge";

const forge = new JobForge({ database: process.env["DATABASE_URL"] });
const jobs = new JobForgeJobsRepository(forge, { dedupe: true });
const orgId = "a0000000-0000-4000-8000-000000000001";

const welcome = defineJob({ type: "send_welcome", input: typed<{ user: string }>(), retry: "quick" });
const handler = welcome.handle(({ user }) => {
  if (user === "bob") throw new Error("mailbox full");
  console.log("welcome", user);
});

// The same job twice is one job, as long as it has not finished. The order of the keys does not matter.
const first = await jobs.enqueue({ type: "send_welcome", orgId, payload: { user: "ada", lang: "en" } });
const again = await jobs.enqueue({ type: "send_welcome", orgId, payload: { lang: "en", user: "ada" } });
console.log(again === first); // → true
const second = await jobs.enqueue({ type: "send_welcome", orgId, payload: { user: "bob" } });

// In Next.js this is the POST of app/api/jobs/tick/route.ts, and a cron job calls it.
const tick = createTickHandler({ forge, handlers: [handler], limit: 10, secret: "dev only" });
const response = await tick(
  new Request("http://localhost/api/jobs/tick", {
    method: "POST",
    headers: { authorization: "Bearer dev only" },
  }),
);
// → welcome ada
const { ok, succeeded, retried } = (await response.json()) as Record<string, unknown>;
console.log(ok, succeeded, retried); // → true 1 1

console.log((await jobs.get(first, orgId))?.status); // → success
const failed = await jobs.get(second, orgId);
console.log(failed?.status, failed?.attempts, failed?.lastError); // → queued 1 mailbox full
await forge.close();
