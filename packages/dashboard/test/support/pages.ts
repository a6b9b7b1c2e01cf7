/** Every page of the dashboard, for what must hold on all of them. */
import type { Scene } from "./scene.ts";
import { tenants } from "./seed.ts";

export interface PageUnderTest {
  readonly path: string;
  /** What the page is about, where its address differs from run to run. */
  readonly name?: string;
  /** What it says when there is no data. Undefined: it always has some, or is about one thing. */
  readonly empty?: RegExp;
  /** It reads nothing from the API but who is signed in. */
  readonly isStatic?: boolean;
}

/** The lists, and pages without a parameter. */
export const lists: readonly PageUnderTest[] = [
  { path: "/", empty: /No job waits/ },
  { path: "/jobs", empty: /There are no jobs yet/ },
  { path: "/dead", empty: /No job has failed for good/ },
  { path: "/types", empty: /No type has jobs yet/ },
  { path: "/workflows", empty: /There is no workflow yet/ },
  { path: "/schedules", empty: /There is no schedule/ },
  { path: "/webhooks", empty: /There is no endpoint/ },
  { path: "/tenants", empty: /No tenant has jobs or settings/ },
  { path: "/controls", empty: /Nothing is paused/ },
  { path: "/workers", empty: /No worker has been heard/ },
  { path: "/usage", empty: /No run ended in this time/ },
  { path: "/audit", empty: /There is no entry/ },
  { path: "/keys", empty: /There is no key/ },
  { path: "/settings", isStatic: true },
];

/** The pages of one thing. */
export async function detailsOf({ db, seeded }: Scene): Promise<PageUnderTest[]> {
  const job = await db.value<string>(
    "select id from jobforge_jobs where tenant_id = $1 and status = 'dead' order by id limit 1",
    [tenants.acme],
  );
  const waiting = await db.value<string>(
    "select id from jobforge_jobs where tenant_id = $1 and type = 'image.resize' and status = 'queued' limit 1",
    [tenants.acme],
  );
  const of = `?of=${tenants.acme}`;
  return [
    { name: "dead job", path: `/jobs/${job}${of}` },
    { name: "waiting job", path: `/jobs/${waiting}${of}` },
    { name: "type", path: "/types/mail.send" },
    { name: "waiting workflow", path: `/workflows/${seeded.workflows.waiting}${of}` },
    { name: "failed workflow", path: `/workflows/${seeded.workflows.failed}${of}` },
    { name: "schedule", path: `/schedules/report.build/daily${of}` },
    { name: "webhook", path: `/webhooks/${seeded.webhooks.failing}${of}` },
    { name: "tenant", path: `/tenants/${tenants.acme}` },
    { name: "worker", path: "/workers/mailer-1" },
  ];
}
