/** `jobforge webhooks`: the way from an endpoint to a verified delivery, with real processes, and what is refused. */
import { createHmac } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test as plain } from "vitest";
import { startJobforge } from "./child.ts";
import { projectFolder, temporaryFolder } from "./files.ts";
import { json, run, T, test, U } from "./support.ts";

const masterKey = Buffer.alloc(32, 7).toString("base64");
const tenant = ["--tenant", T];
const handlers = `import { defineJob } from "@jobforge/sdk-ts";
export const build = defineJob({ type: "report.build" }).handle(() => 1);`;

interface Line {
  readonly event: string;
  readonly url: string;
  readonly type: string;
  readonly id: string;
  readonly repeated: boolean;
  readonly code: string;
  readonly body: { readonly data: { readonly id: string } };
}

/** The documents that a process has printed. */
function linesOf(printed: string): Line[] {
  return printed
    .split("\n")
    .filter((line) => line.endsWith("}"))
    .map((line) => JSON.parse(line) as Line);
}

test("an endpoint gets the end of a job, and listen verifies it", async ({ db }) => {
  await using project = await projectFolder({ "handlers/build.js": handlers });
  // The port is known before the endpoint, and the secret after it. So the first receiver only finds a free port.
  const finder = startJobforge(["webhooks", "listen", "--port", "0", "--secret", "none", "--json"], {
    cwd: project.path,
  });
  await finder.printed("listening");
  const url = linesOf(finder.stdout())[0]?.url ?? "";
  finder.process.kill("SIGINT");
  expect(await finder.ended).toEqual({ code: 0, signal: null });

  const add = ["webhooks", "add", `${url}/hooks`, "--event", "job.succeeded,webhook.test", ...tenant];
  const { id } = await json<{ id: string }>(add, db.url);
  const env = { DATABASE_URL: db.url, JOBFORGE_WEBHOOK_MASTER_KEY: masterKey, JOBFORGE_EGRESS: "loopback" };
  const shown = await run(["webhooks", "secret", id, ...tenant], env);
  const secret = shown.stdout.trim();
  expect(secret).toMatch(/^whsec_/);

  const listen = ["webhooks", "listen", "--port", new URL(url).port, "--json"];
  const receiver = startJobforge(listen, { cwd: project.path, env: { JOBFORGE_WEBHOOK_SECRET: secret } });
  await receiver.printed("listening");
  const worker = startJobforge(["worker", "./handlers", "--connectors"], { cwd: project.path, env });
  const job = await json<{ id: string }>(["enqueue", "report.build", ...tenant], db.url);
  await receiver.printed("job.succeeded");
  const [first] = linesOf(receiver.stdout()).slice(1);
  expect(first).toMatchObject({ event: "verified", type: "job.succeeded", repeated: false });
  expect(first).toMatchObject({ path: "/hooks", body: { data: { id: job.id } } });

  // A replay has the same webhook-id. The first delivery must have ended before it can be selected.
  const list = ["webhooks", "deliveries", id, "--status", "succeeded", ...tenant];
  await expect
    .poll(async () => (await json<{ items: object[] }>(list, db.url)).items.length, { timeout: 30_000 })
    .toBe(1);
  const replay = ["webhooks", "replay", id, "--status", "succeeded", "--yes", ...tenant];
  expect(await json(replay, db.url)).toEqual({ matched: 1, replayed: 1 });
  await receiver.printed('"repeated":true');
  expect(linesOf(receiver.stdout())[2]).toMatchObject({ event: "verified", id: first?.id, repeated: true });

  // After a rotation without overlap, the receiver has the wrong secret, and says so.
  await json(["webhooks", "rotate", id, "--keep", "0s", ...tenant], db.url);
  await json(["webhooks", "test", id, ...tenant], db.url);
  await receiver.printed('"refused"');
  expect(linesOf(receiver.stdout())[3]).toMatchObject({ event: "refused", code: "no_match" });
  for (const child of [worker, receiver]) {
    child.process.kill("SIGTERM");
    expect(await child.ended).toEqual({ code: 0, signal: null });
  }
});

describe("add", () => {
  test("stores all settings, and show names them", async ({ db }) => {
    const args = [
      ...["webhooks", "add", "https://example.com/hooks", "--event", "job.*,invoice.paid", "--tag", "big"],
      ...[
        "--description",
        "for Ada",
        "--job-type",
        "report.*",
        "--include",
        "result",
        "--format",
        "cloudevents",
      ],
      ...["--signature", "both", "--header", "x-team: blue, green", "--secret-header", "authorization: ACME"],
      ...["--ordered", "--retry-after", "5s,1m", "--tenant", "org_123"],
    ];
    const endpoint = await json<{ id: string }>(args, db.url);
    expect(endpoint).toMatchObject({
      ...{ events: ["job.*", "invoice.paid"], tags: ["big"], jobTypes: ["report.*"], include: ["result"] },
      ...{ description: "for Ada", format: "cloudevents", signature: "both", ordered: true },
      headers: { "x-team": "blue, green", authorization: { $secret: "ACME" } },
      retrySchedule: [5, 60],
    });
    const env = { DATABASE_URL: db.url };
    const unsafe = await run(["webhooks", "add", "http://example.com/", ...tenant], env);
    expect(unsafe.stderr).toContain("unless their egress policy has allow_http");
    const shown = await run(["webhooks", "show", endpoint.id, "--tenant", "org_123"], env);
    expect(shown.stdout).toContain("x-team: blue, green, authorization: the secret ACME");
    expect(shown.stdout).toMatch(/retries +5s, 1m\n/);
  });

  test("refuses what is wrong, and creates nothing", async ({ db }) => {
    const env = { DATABASE_URL: db.url };
    const add = ["webhooks", "add", "https://example.com/hooks", ...tenant];
    for (const wrong of [
      ["--include", "all"],
      ["--format", "xml"],
      ["--header", "no value"],
      ["--header", "a: 1", "--header", "A: 2"],
      ["--retry-after", "5"],
    ])
      expect(await run([...add, ...wrong], env), wrong.join(" ")).toMatchObject({ exitCode: 2 });
    expect(await run(["webhooks", "add", "ftp://example.com", ...tenant], env)).toMatchObject({
      exitCode: 2,
    });
    expect(await json(["webhooks", "list", ...tenant], db.url)).toEqual({ items: [], cursor: null });
  });
});

test("an endpoint of another tenant, and one that does not exist, are not found", async ({ db }) => {
  const { id } = await json<{ id: string }>(["webhooks", "add", "https://example.com/", ...tenant], db.url);
  const env = { DATABASE_URL: db.url, JOBFORGE_WEBHOOK_MASTER_KEY: masterKey };
  for (const command of ["show", "secret", "test", "rotate", "enable", "disable", "delete", "replay"]) {
    const shown = await run(["webhooks", command, id, "--tenant", U], env);
    expect(shown, command).toMatchObject({ exitCode: 4, stdout: "" });
    expect(shown.stderr, command).toContain("Pass its --tenant. To list endpoints: jobforge webhooks list");
    expect(await run(["webhooks", command, "x", "--tenant", T], env), command).toMatchObject({ exitCode: 2 });
  }
  expect(await json(["webhooks", "list", ...tenant], db.url)).toMatchObject({ items: [{ id }] });
  const others = await run(["webhooks", "list"], env);
  expect(others.stdout).toContain("Without --tenant, it is the global tenant.");
});

test("delete and replay ask, and without a terminal need --yes", async ({ db }) => {
  const { id } = await json<{ id: string }>(["webhooks", "add", "https://example.com/", ...tenant], db.url);
  await json(["webhooks", "test", id, ...tenant], db.url);
  await db.query(
    `select jobforge_complete_job(id, 'w', 'failed', p_retry => false)
     from jobforge_claim_jobs('w', 10, '{connector.webhook.deliver}')`,
  );
  const env = { DATABASE_URL: db.url };
  for (const command of ["delete", "replay"]) {
    const args = ["webhooks", command, id, ...tenant];
    expect(await run(args, env)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("--yes") });
    expect(await run(args, env, { terminal: { typed: "n\n" } })).toMatchObject({ exitCode: 1 });
  }
  const asked = await run(["webhooks", "replay", id, ...tenant], env, { terminal: { typed: "y\n" } });
  expect(asked.stderr).toContain("This sends 1 delivery again.");
  expect(asked).toMatchObject({ exitCode: 0, stdout: "1 delivery sent again.\n" });
});

test("a list is readable in a terminal of 80 columns", async ({ db }) => {
  const url = `https://hooks.example.com/${"long/".repeat(20)}`;
  const { id } = await json<{ id: string }>(["webhooks", "add", url, ...tenant], db.url);
  await json(["webhooks", "test", id, ...tenant], db.url);
  for (const args of [
    ["webhooks", "list"],
    ["webhooks", "deliveries", id],
  ]) {
    const shown = await run(
      [...args, ...tenant],
      { DATABASE_URL: db.url, NO_COLOR: "1" },
      { terminal: { columns: 80 } },
    );
    for (const line of shown.stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    expect(shown.stdout).toMatch(/[0-9a-f-]{36} +(https:\/\/hooks\.ex|webhook\.test)/);
  }
});

test("secret shows the key of the workers, also the one before, and needs a master key", async ({ db }) => {
  const { id } = await json<{ id: string }>(["webhooks", "add", "https://example.com/", ...tenant], db.url);
  const secret = ["webhooks", "secret", id, ...tenant, "--json"];
  const env = { DATABASE_URL: db.url, JOBFORGE_WEBHOOK_MASTER_KEY: masterKey };
  const [first] = (JSON.parse((await run(secret, env)).stdout) as { items: { secret: string }[] }).items;
  await json(["webhooks", "rotate", id, ...tenant], db.url);
  const { items } = JSON.parse((await run(secret, env)).stdout) as { items: object[] };
  expect(items).toEqual([
    { version: 2, secret: expect.stringMatching(/^whsec_/), until: null },
    { version: 1, secret: first?.secret, until: expect.stringMatching(/Z$/) },
  ]);
  const none = await run(secret, { DATABASE_URL: db.url });
  expect(none).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('"no_master_key"') });
  const short = await run(secret, { ...env, JOBFORGE_WEBHOOK_MASTER_KEY: "short" });
  expect(short).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("32 bytes") });
});

test("enqueue --notify names a URL or an endpoint", async ({ db }) => {
  const { id } = await json<{ id: string }>(
    ["webhooks", "add", "https://example.com/", "--event", "invoice.*", ...tenant],
    db.url,
  );
  const enqueue = ["enqueue", "work", "{}", ...tenant];
  const receivers = [
    [id],
    ["https://example.com/done", "--notify-secret", "ACME", "--notify-on", "succeeded,dead"],
    ["https://example.com/never", "--notify-on", "canceled"],
  ];
  for (const receiver of receivers) await json([...enqueue, "--notify", ...receiver], db.url);
  await db.query(
    "select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w', 10, '{work}')",
  );
  const rows = await db.query<{ payload: object }>(
    "select payload from jobforge_jobs where type = 'connector.webhook.deliver' order by payload ->> 'url'",
  );
  expect(rows.map(({ payload }) => payload)).toEqual([
    expect.objectContaining({ url: "https://example.com/done", secret: { $secret: "ACME" } }),
    expect.objectContaining({ endpoint_id: id }),
  ]);
  const env = { DATABASE_URL: db.url };
  expect(await run([...enqueue, "--notify-on", "dead"], env)).toMatchObject({ exitCode: 2 });
  expect(await run([...enqueue, "--notify", "ftp://x"], env)).toMatchObject({ exitCode: 2 });
  expect(await run([...enqueue, "--notify", id, "--notify-on", "lost"], env)).toMatchObject({ exitCode: 2 });
});

describe("verify", () => {
  const key = Buffer.alloc(32, 5);
  const secret = `whsec_${key.toString("base64")}`;
  const body = '{"type":"job.dead","data":{"name":"Zoë"}}';

  /** The arguments of a delivery that was sent some seconds ago. */
  function delivery(secondsAgo = 0, changes: Readonly<Record<string, string>> = {}): string[] {
    const time = String(Math.floor(Date.now() / 1000) - secondsAgo);
    const signature = createHmac("sha256", key).update(`msg_1.${time}.${body}`).digest("base64");
    const headers = {
      "Webhook-Id": "msg_1",
      "webhook-timestamp": time,
      "webhook-signature": `v1,${signature}`,
    };
    const given = Object.entries({ ...headers, ...changes }).filter(([, value]) => value !== "");
    return given.flatMap(([name, value]) => ["--header", `${name}: ${value}`]);
  }

  plain("takes the exact bytes of a file, of standard input or of an argument", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "body.json");
    await writeFile(path, body);
    for (const given of [`@${path}`, "-", body]) {
      const args = ["webhooks", "verify", given, ...delivery(), "--secret", secret, "--json"];
      const checked = await run(args, {}, { piped: body });
      expect(checked, given).toMatchObject({ exitCode: 0, stderr: "" });
      expect(JSON.parse(checked.stdout)).toMatchObject({
        verified: true,
        id: "msg_1",
        event: JSON.parse(body),
      });
    }
    const fromVariable = await run(["webhooks", "verify", body, ...delivery()], {
      JOBFORGE_WEBHOOK_SECRET: secret,
    });
    expect(fromVariable.stdout).toMatch(/authentic\.\nid +msg_1\nsent .*\nevent +job\.dead\n$/);
  });

  plain.for<readonly [name: string, args: readonly string[]]>([
    ["missing_header", [body, ...delivery(0, { "webhook-signature": "" })]],
    ["invalid_id", [body, ...delivery(0, { "Webhook-Id": "a.b" })]],
    ["invalid_timestamp", [body, ...delivery(0, { "webhook-timestamp": "yesterday" })]],
    ["too_old", [body, ...delivery(3600)]],
    ["too_new", [body, ...delivery(-3600)]],
    ["no_match", [`${body} `, ...delivery()]],
    ["no_match", [body, ...delivery(0, { "Webhook-Id": "msg_2" })]],
  ])("says that the check %s failed", async ([name, args]) => {
    const checked = await run(["webhooks", "verify", ...args, "--secret", secret, "--json"]);
    expect(checked).toMatchObject({ exitCode: 1, stdout: "" });
    expect(JSON.parse(checked.stderr)).toMatchObject({ error: { name, hint: expect.stringMatching(/./) } });
  });

  plain("wrong usage is refused", async () => {
    expect(await run(["webhooks", "verify", body, ...delivery()])).toMatchObject({ exitCode: 2 });
    const short = await run(["webhooks", "verify", body, ...delivery(), "--secret", "whsec_AA=="]);
    expect(short).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("whsec_") });
    const missing = await run([
      "webhooks",
      "verify",
      "@/nonexistent/body",
      ...delivery(),
      "--secret",
      secret,
    ]);
    expect(missing).toMatchObject({ exitCode: 4 });
  });
});

plain("listen refuses what is no delivery, and a port in use", async () => {
  const stop = new AbortController();
  let port = "";
  const replies: number[] = [];
  const onOutput = (text: string): void => {
    const url = /http:\/\/127\.0\.0\.1:(\d+)/.exec(text);
    if (url === null) return;
    port = url[1] ?? "";
    void probe(url[0]).finally(() => stop.abort());
  };
  const probe = async (url: string): Promise<void> => {
    replies.push((await fetch(url)).status);
    replies.push((await fetch(url, { method: "POST", body: "{}" })).status);
    replies.push((await fetch(url, { method: "POST", body: Buffer.alloc(9 * 1024 * 1024) })).status);
    const second = await run(["webhooks", "listen", "--port", port, "--secret", "x"]);
    expect(second).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("already in use") });
    replies.push(second.exitCode);
  };
  const first = await run(
    ["webhooks", "listen", "--port", "0", "--secret", "x"],
    {},
    { signal: stop.signal, onOutput },
  );
  expect(first).toMatchObject({ exitCode: 0, stderr: "" });
  expect(replies).toEqual([405, 401, 413, 1]);
  expect(first.stdout).toContain("refused  missing_header / The header webhook-id is missing.");
});
