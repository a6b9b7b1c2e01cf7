/** Texts that a careless page would run, from the collections of people who look for such pages. */
import type { TestConnection } from "@jobforge/testing";

type Db = Pick<TestConnection, "query" | "value">;

export const texts: readonly string[] = [
  `<img src=x onerror="pwned=1">`,
  `<script>pwned=1</script>`,
  `"><script>pwned=1</script>`,
  `'><svg onload=pwned=1>`,
  `<svg/onload=pwned=1>`,
  `<svg><animate onbegin=pwned=1 attributeName=x dur=1s>`,
  `<iframe srcdoc="<script>parent.pwned=1</script>">`,
  `<iframe src="javascript:parent.pwned=1">`,
  `<a href="javascript:pwned=1">here</a>`,
  `<a href="data:text/html,<script>pwned=1</script>">here</a>`,
  `javascript:pwned=1`,
  `JaVaScRiPt:pwned=1`,
  `<body onload=pwned=1>`,
  `<details open ontoggle=pwned=1>`,
  `<input autofocus onfocus=pwned=1>`,
  `<select autofocus onfocus=pwned=1>`,
  `<textarea autofocus onfocus=pwned=1>`,
  `<video><source onerror="pwned=1"></video>`,
  `<video src=x onerror=pwned=1>`,
  `<audio src=x onerror=pwned=1>`,
  `<object data="javascript:pwned=1">`,
  `<embed src="javascript:pwned=1">`,
  `<math><mi xlink:href="javascript:pwned=1">x</mi></math>`,
  `<form action="javascript:pwned=1"><button>x</button></form>`,
  `<button formaction="javascript:pwned=1">x</button>`,
  `<base href="//evil.example/">`,
  `<link rel=stylesheet href=//evil.example/x.css>`,
  `<style>*{background:url(//evil.example/)}</style>`,
  `<meta http-equiv=refresh content="0;url=//evil.example/">`,
  `<div style="background:url(javascript:pwned=1)">x</div>`,
  `<div onmouseover=pwned=1>x</div>`,
  `</textarea><script>pwned=1</script>`,
  `</title><script>pwned=1</script>`,
  `</style><script>pwned=1</script>`,
  `--><script>pwned=1</script>`,
  `]]><script>pwned=1</script>`,
  `{{constructor.constructor('pwned=1')()}}`,
  `\${pwned=1}`,
  `#{pwned=1}`,
  `<%= pwned=1 %>`,
  `&lt;script&gt;pwned=1&lt;/script&gt;`,
  `&#60;img src=x onerror=pwned=1&#62;`,
  `__proto__`,
  `constructor`,
  `=cmd|' /C calc'!A0`,
];

export interface Planted {
  readonly jobs: readonly string[];
  readonly type: string;
  readonly key: string;
  readonly workflow: string;
  readonly webhook: string;
}

const perJob = 4;

/** Writes the texts into every field of a tenant that takes a text. Each text is in at least one job. */
export async function plantTexts(db: Db, tenant: string): Promise<Planted> {
  const [first = ""] = texts;
  // The name of a type cannot have such characters: the kernel refuses it.
  const type = "evil.job";
  const jobs: string[] = [];
  for (let from = 0; from < texts.length; from += perJob)
    jobs.push(await plantJob(db, tenant, type, texts.slice(from, from + perJob)));
  await db.query("select jobforge_set_tenant($1, $2)", [tenant, { label: first }]);
  await db.query("select jobforge_ensure_schedule($1, $2, $3, $4)", [
    tenant,
    type,
    first,
    JSON.stringify({ every: "1h", payload: { [first]: texts } }),
  ]);
  await db.query("select jobforge_set_gate('type', $1, true, $1)", [type]);
  await db.query("select jobforge_set_limit('type', $1, 3)", [type]);
  await db.query("select jobforge_heartbeat_worker($1, $2)", [
    first,
    { types: [type], host: first, version: first, concurrency: 1, pid: 1 },
  ]);
  await db.query("select jobforge_create_token($1, 'jobforge_reader')", [first]);
  const steps = [{ name: "one", type, payload: { text: first } }];
  const started = await db.value<{ id: string }>(
    "select jobforge_start_workflow($1, $2, $3, $4, $5)",
    [tenant, type, steps, { [first]: first }, { subject: first, tags: [first] }].map((each) =>
      typeof each === "string" ? each : JSON.stringify(each),
    ),
  );
  const webhook = await db.value<{ id: string }>(
    "select jobforge_set_webhook_endpoint($1, p_endpoint => $2)",
    [
      tenant,
      JSON.stringify({ url: "https://evil.example/hooks", description: first, events: ["invoice.*"] }),
    ],
  );
  return { jobs, type, key: first, workflow: started.id, webhook: webhook.id };
}

/** A job that ran twice: progress, a log, and a failure with these texts. */
async function plantJob(db: Db, tenant: string, type: string, own: readonly string[]): Promise<string> {
  const [text = ""] = own;
  const { id } = await db.value<{ id: string }>(
    `select jobforge_enqueue_job($1, $2, $3, p_subject => $4, p_tags => $5, p_concurrency_key => $4,
       p_max_attempts => 1)`,
    [tenant, type, JSON.stringify(Object.fromEntries(own.map((each) => [each, own]))), text, [...own]],
  );
  const worker = `worker ${text}`;
  await db.query("select jobforge_set_gate('type', $1, false)", [type]);
  const claimed = await db.query("select id from jobforge_claim_jobs($1, 1, $2)", [worker, [type]]);
  if (claimed.length === 0) throw new Error("The job was not claimed");
  await db.query("select jobforge_progress_job($1, $2, $3)", [id, worker, JSON.stringify({ [text]: text })]);
  await db.query("select jobforge_complete_job($1, $2, 'failed', $3)", [
    id,
    worker,
    { name: text, message: own.join(" "), stack: `${own.join("\n")}\n at ${text}` },
  ]);
  return id;
}
