import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { globalTenant } from "@jobforge/sdk-ts";
import { describe, expect } from "vitest";
import { temporaryFolder } from "./files.ts";
import { json, run, T, test } from "./support.ts";

describe("jobforge enqueue", () => {
  test("enqueues a job of the global tenant and prints its id", async ({ db }) => {
    const { exitCode, stdout, stderr } = await run(["enqueue", "mail.send", '{"to": "ada"}'], {
      DATABASE_URL: db.url,
    });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const [id, outcome] = stdout.trim().split(" ");
    expect(outcome).toBe("created");
    expect(await db.query("select id, tenant_id, type, payload from jobforge_jobs")).toEqual([
      { id, tenant_id: globalTenant, type: "mail.send", payload: { to: "ada" } },
    ]);
  });

  test("passes every option to the database", async ({ db }) => {
    const options = [
      ...["--tenant", T, "--priority", "7", "--max-attempts", "2", "--in", "2h", "--subject", "order-1"],
      ...["--tag", "a,b", "--tag", "c", "--idempotency-key", "k", "--dedupe-key", "d", "--expires-at", "1d"],
      ...["--concurrency-key", "c1"],
    ];
    const created = await json(["enqueue", "mail.send", ...options], db.url);
    expect(created).toMatchObject({ tenantId: T, type: "mail.send", outcome: "created" });
    const [job] = await db.query(
      `select payload, priority, max_attempts, subject, tags, idempotency_key, dedupe_key, concurrency_key,
         run_at - created_at between interval '1 hour 59 minutes' and interval '2 hours 1 minute' as later,
         expires_at is not null as expires
       from jobforge_jobs`,
    );
    expect(job).toEqual({
      payload: {},
      priority: 7,
      max_attempts: 2,
      subject: "order-1",
      tags: ["a", "b", "c"],
      idempotency_key: "k",
      dedupe_key: "d",
      concurrency_key: "c1",
      later: true,
      expires: true,
    });
    expect(await json(["enqueue", "mail.send", ...options], db.url)).toMatchObject({ outcome: "existing" });
  });

  test("--in counts on the clock of the database", async ({ db }) => {
    await run(["enqueue", "mail.send", "--in", "2h"], { DATABASE_URL: db.urlAt("3 days") });
    const days =
      "run_at between now() + interval '73 hours 59 minutes' and now() + interval '74 hours 1 minute'";
    expect(await db.value(`select ${days} from jobforge_jobs`)).toBe(true);
  });

  test("reads the payload from a file or from a pipe", async ({ db }) => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, "payload.json");
    await writeFile(file, '{"from": "a file"}');
    const env = { DATABASE_URL: db.url };
    expect((await run(["enqueue", "a", `@${file}`], env)).exitCode).toBe(0);
    expect((await run(["enqueue", "a", "-"], env, { piped: '{"from": "a pipe"}' })).exitCode).toBe(0);
    expect(await db.query("select payload from jobforge_jobs order by id")).toEqual([
      { payload: { from: "a file" } },
      { payload: { from: "a pipe" } },
    ]);
  });

  test("--wait shows the result of a job that has already succeeded", async ({ db }) => {
    const args = ["enqueue", "a", "--idempotency-key", "k"];
    await run(args, { DATABASE_URL: db.url });
    await db.query(
      `select jobforge_complete_job(id, 'w', 'succeeded', p_result => '{"n": 1}') from jobforge_claim_jobs('w')`,
    );
    expect(await json([...args, "--wait"], db.url)).toMatchObject({ status: "succeeded", result: { n: 1 } });
    const { stdout } = await run([...args, "--wait", "5s"], { DATABASE_URL: db.url });
    expect(JSON.parse(stdout)).toEqual({ n: 1 });
  });

  test("--timeout is refused with the option that does it", async ({ db }) => {
    const result = await run(["enqueue", "a", "--wait", "--timeout", "2s"], { DATABASE_URL: db.url });
    expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("--wait 2s") });
    expect(await db.query("select id from jobforge_jobs")).toEqual([]);
  });

  test("--wait ends with 1 if the job failed or did not finish in time", async ({ db }) => {
    const args = ["enqueue", "a", "--idempotency-key", "k"];
    await run(args, { DATABASE_URL: db.url });
    const late = await run([...args, "--wait", "1ms"], { DATABASE_URL: db.url });
    expect(late.exitCode).toBe(1);
    expect(late.stderr).toContain(
      "did not finish within 1ms. No live worker handles the type a: none is alive.",
    );
    expect(late.stderr).toContain("jobforge jobs tail ");
    const document = await run([...args, "--wait", "1ms", "--json"], { DATABASE_URL: db.url });
    expect(JSON.parse(document.stderr)).toMatchObject({ error: { name: "wait_timeout", exitCode: 1 } });
    await db.query(
      `select jobforge_complete_job(id, 'w', 'failed', '{"message": "boom"}', p_retry => false) from jobforge_claim_jobs('w')`,
    );
    const failed = await run([...args, "--wait"], { DATABASE_URL: db.url });
    expect(failed.exitCode).toBe(1);
    expect(failed.stderr).toContain("is failed: boom");
  });

  test.for<readonly [args: string[], exitCode: number, message: string]>([
    [["enqueue"], 2, "missing required argument 'type'"],
    [["enqueue", "a", "{no json"], 2, "The payload is not valid JSON"],
    [["enqueue", "a", "@/no/such/file"], 4, "The file /no/such/file cannot be read: it does not exist."],
    [["enqueue", "a", "@/"], 4, "The file / cannot be read: it is a directory."],
    [["enqueue", "a", "--delay", "5s"], 2, "Use --in 5s."],
    [["enqueue", "a", "--in", "soon"], 2, '"soon" is not a valid time span'],
    [["enqueue", "a", "--in", "1h", "--run-at", "2030-01-01T00:00:00Z"], 2, "not both"],
    [["enqueue", "a", "--tenant", "11111111-1111-4111-8111"], 2, "is not a valid tenant"],
    [["enqueue", "a", "--priority", "high"], 2, "--priority must be a whole number"],
    [["enqueue", ""], 2, "type"],
    [["enqueue", "a", "--dedupe-mode", "replace"], 2, "--dedupe-mode replace needs --dedupe-key."],
    [["enqueue", "a", "--dedupe-mode", "skip"], 2, "--dedupe-mode skip needs --dedupe-key."],
    [["enqueue", "a", "--payload", "{}"], 2, "Write the payload after the type: '{}'."],
  ])("%j is refused", async ([args, exitCode, message], { db }) => {
    const refused = await run(args, { DATABASE_URL: db.url });
    expect(refused.stderr).toContain(message);
    expect(refused).toMatchObject({ exitCode, stdout: "" });
  });

  test("says what to do if JobForge is not installed", async ({ empty }) => {
    const { exitCode, stderr } = await run(["enqueue", "a"], { DATABASE_URL: empty.url });
    expect(exitCode).toBe(1);
    expect(stderr).toContain("jobforge migrate");
  });
});
