/** Tests every command in a terminal and with --json: both print the same result. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { findEmbedded } from "@jobforge/embedded";
import type { TestDatabase } from "@jobforge/testing";
import type { Command } from "commander";
import { describe, expect, onTestFinished, test as plain } from "vitest";
import { createProgram } from "../src/program.ts";
import { type Folder, projectFolder, repository, temporaryFolder } from "./files.ts";
import { createRiver } from "./import/support.ts";
import { run, T, test } from "./support.ts";

/** The data that a command works on. */
interface Scene {
  readonly url: string;
  readonly handlers: string;
  /** Ids of jobs: one is queued, one has succeeded, one is dead. */
  readonly queued: string;
  readonly done: string;
  readonly dead: string;
  readonly key: string;
  /** The id of a workflow that waits for a signal. */
  readonly workflow: string;
  /** The id of a workflow that has failed. */
  readonly failed: string;
  /** The id of an endpoint of the tenant. A delivery to it has failed. */
  readonly endpoint: string;
}

interface Example {
  readonly args: (scene: Scene) => readonly string[];
  /** Matches the output in a terminal, without colours. */
  readonly shows: RegExp;
  /** For a command that runs until stopped: it is stopped after this output. Its JSON is one document per line. */
  readonly until?: RegExp;
  readonly env?: Readonly<Record<string, string>>;
}

const of =
  (...args: string[]): Example["args"] =>
  () =>
    args;
const tenant = ["--tenant", T];

const examples: Readonly<Record<string, Example>> = {
  audit: { args: of("audit"), shows: /GATE_PAUSED +gate +type:paused\.type/ },
  "dead list": { args: of("dead", "list"), shows: /no such user/ },
  "dead purge": { args: of("dead", "purge", "--type", "break", "--yes"), shows: /1 .*deleted/ },
  "dead retry": { args: of("dead", "retry", "--type", "break", "--yes"), shows: /1 / },
  dev: { args: of("dev", "--port", "0"), shows: /Open http/, until: /No handlers|no_handlers/ },
  doctor: { args: of("doctor"), shows: /clock/ },
  enqueue: { args: of("enqueue", "work", "{}", ...tenant), shows: /created/ },
  "gates list": { args: of("gates", "list"), shows: /paused\.type .*\b0\b/ },
  "gates pause": { args: of("gates", "pause", "--type", "a"), shows: /Type a is paused/ },
  "gates resume": {
    args: of("gates", "resume", "--type", "paused.type"),
    shows: /Type paused\.type is no longer paused/,
  },
  import: { args: of("import", "river", "--dry-run"), shows: /work +work +\d+ +0/ },
  "jobs cancel": { args: ({ queued }) => ["jobs", "cancel", queued], shows: /canceled/ },
  "jobs explain": { args: ({ queued }) => ["jobs", "explain", queued], shows: /scheduled/ },
  "jobs export": { args: of("jobs", "export"), shows: /"type":"work"/, until: /"type":"break"/ },
  "jobs list": { args: of("jobs", "list"), shows: /work +succeeded/ },
  "jobs retry": { args: ({ dead }) => ["jobs", "retry", dead], shows: /queued|retried|now/ },
  "jobs show": { args: ({ done }) => ["jobs", "show", done], shows: /succeeded/ },
  "jobs tail": { args: ({ done }) => ["jobs", "tail", done], shows: /succeeded/, until: /succeeded/ },
  "limits delete": { args: of("limits", "delete", "--key", "limited"), shows: /limited: limit deleted/ },
  "limits list": { args: of("limits", "list"), shows: /key +limited +5 +any/ },
  "limits set": {
    args: of("limits", "set", "--type", "work", "--rate", "100", "--per", "1m"),
    shows: /Type work: at most 100 per 1m/,
  },
  migrate: { args: of("migrate"), shows: /already at JobForge/ },
  "policies list": { args: of("policies", "list"), shows: /\* +5 executions/ },
  "policies reset": { args: of("policies", "reset", "work"), shows: /work has no policy of its own/ },
  "policies set": { args: of("policies", "set", "new", "--max-attempts", "9"), shows: /9 executions/ },
  "policies show": { args: of("policies", "show", "work"), shows: /policy +default/ },
  "schedules add": {
    args: of("schedules", "add", "work", "new", "--every", "1h"),
    shows: /work new created/,
  },
  "schedules count": { args: of("schedules", "count"), shows: /work +1 +1 +1 +0 +0 +0/ },
  "schedules delete": { args: of("schedules", "delete", "work", "hourly", "--yes"), shows: /: deleted/ },
  "schedules disable": { args: of("schedules", "disable", "work", "hourly"), shows: /: disabled/ },
  "schedules enable": { args: of("schedules", "enable", "work", "hourly"), shows: /next run/ },
  "schedules list": { args: of("schedules", "list"), shows: /work +hourly +every 1h/ },
  "schedules show": { args: of("schedules", "show", "work", "hourly"), shows: /runs +every 1h/ },
  "schedules next": { args: of("schedules", "next", "work", "hourly"), shows: /^20\S+Z +(now|in )/ },
  "schedules update": {
    args: of("schedules", "update", "work", "hourly", "--reset-failures"),
    shows: /work hourly updated; next run/,
  },
  "schedules run": { args: of("schedules", "run", "work", "hourly"), shows: /run requested/ },
  server: {
    args: of("server", "--port", "0"),
    shows: /Listening on http/,
    until: /Listening|"listening"/,
    env: { JOBFORGE_JWT_SECRET: "a secret of the tests that is long enough" },
  },
  stats: { args: of("stats"), shows: /1 succeeded; 3 failed or dead/ },
  // It needs a Redis, so move.test.ts runs it.
  move: {
    args: () => ["move", "--to", "redis://127.0.0.1:1", "--types", "it", "--dry-run"],
    shows: /jobs? would be moved/,
  },
  sync: { args: ({ handlers }) => ["sync", handlers], shows: /^it: unchanged$/m },
  tick: { args: ({ handlers }) => ["tick", handlers], shows: /No jobs were due/ },
  "tenants list": { args: of("tenants", "list"), shows: /1{8}-1111/ },
  "tenants set": {
    args: of("tenants", "set", "org_123", "--label", "org_123", "--max-pending", "5", "--weight", "2"),
    shows: /label +org_123\npending +0 of 5[\s\S]*weight +2/,
  },
  "tenants show": { args: of("tenants", "show", T), shows: /label +none\npending +no quota/ },
  "token create": {
    args: of("token", "create", "mine", "--role", "jobforge_reader"),
    shows: /jf_[0-9a-f]{8}_/,
  },
  "token list": { args: of("token", "list"), shows: /first/ },
  "token revoke": { args: ({ key }) => ["token", "revoke", key], shows: /revoked|no longer/ },
  "types list": { args: of("types", "list"), shows: /break/ },
  "types show": { args: of("types", "show", "work"), shows: /work/ },
  usage: { args: of("usage"), shows: /break +1 +0 +1/ },
  // It needs an embedded database, so dev.test.ts runs it.
  url: { args: of("url"), shows: /^postgres:/ },
  // It handles the signals of this process, so worker.test.ts runs it in a separate process.
  worker: { args: ({ handlers }) => ["worker", handlers, "--id", "w9"], shows: /./, until: /Worker started/ },
  workers: { args: of("workers"), shows: /w1 +alive/ },
  "webhooks add": {
    args: of("webhooks", "add", "https://example.com/new", ...tenant),
    shows: /created/,
  },
  "webhooks delete": {
    args: ({ endpoint }) => ["webhooks", "delete", endpoint, "--yes", ...tenant],
    shows: /: deleted; queued/,
  },
  "webhooks deliveries": {
    args: ({ endpoint }) => ["webhooks", "deliveries", endpoint, ...tenant],
    shows: /webhook\.test +failed +1\/12/,
  },
  "webhooks disable": {
    args: ({ endpoint }) => ["webhooks", "disable", endpoint, "--reason", "moves", ...tenant],
    shows: /: disabled; its deliveries wait\./,
  },
  "webhooks enable": {
    args: ({ endpoint }) => ["webhooks", "enable", endpoint, ...tenant],
    shows: /: enabled\./,
  },
  "webhooks list": { args: of("webhooks", "list", ...tenant), shows: /https:\/\/example\.com\/\S* +enabled/ },
  "webhooks listen": {
    args: of("webhooks", "listen", "--port", "0", "--secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    shows: /Listening on http:\/\/127\.0\.0\.1:\d+/,
    until: /Listening|"listening"/,
  },
  "webhooks replay": {
    args: ({ endpoint }) => ["webhooks", "replay", endpoint, "--yes", ...tenant],
    shows: /^1 delivery sent again\.$/m,
  },
  "webhooks rotate": {
    args: ({ endpoint }) => ["webhooks", "rotate", endpoint, ...tenant],
    shows: /: version 2 signs; version 1 signs as well, it ends in /,
  },
  "webhooks secret": {
    args: ({ endpoint }) => ["webhooks", "secret", endpoint, ...tenant],
    shows: /^whsec_\S{44}$/m,
    env: { JOBFORGE_WEBHOOK_MASTER_KEY: Buffer.alloc(32, 7).toString("base64") },
  },
  "webhooks show": {
    args: ({ endpoint }) => ["webhooks", "show", endpoint, ...tenant],
    shows: /state +enabled\nevents +job\.succeeded, job\.failed, job\.dead, job\.canceled/,
  },
  "webhooks test": {
    args: ({ endpoint }) => ["webhooks", "test", endpoint, ...tenant],
    shows: /webhook\.test is queued as the delivery [0-9a-f-]{36}/,
  },
  // The example of the libraries of Standard Webhooks.
  "webhooks verify": {
    args: of(
      ...["webhooks", "verify", '{"test": 2432232314}', "--tolerance", "36500d"],
      ...[
        "--header",
        "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek",
        "--header",
        "webhook-timestamp: 1614265330",
      ],
      ...["--header", "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="],
      ...["--secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    ),
    shows: /is authentic\.\nid +msg_p5jX/,
  },
  "workflows cancel": {
    args: ({ workflow }) => ["workflows", "cancel", workflow, "--reason", "because"],
    shows: /is canceled: 1 queued job canceled/,
  },
  "workflows explain": {
    args: ({ workflow }) => ["workflows", "explain", workflow],
    shows: /waits_for_signal +Step ok[^\n]*\n(.*\n)*blocked +[^\n]*: b/,
  },
  "workflows list": { args: of("workflows", "list", ...tenant), shows: /flow +running +3/ },
  "workflows resolve": {
    args: ({ failed }) => ["workflows", "resolve", failed, "a", '{"by": "hand"}'],
    shows: /a of [0-9a-f-]+ is succeeded/,
  },
  "workflows retry": {
    args: ({ failed }) => ["workflows", "retry", failed],
    shows: /: 1 step started again, 0 wait/,
  },
  "workflows show": {
    args: ({ workflow }) => ["workflows", "show", workflow],
    shows: /a +queued +part[^\n]*\n└─ b +blocked +part[^\n]*\nok +waiting +signal/,
  },
  "workflows signal": {
    args: ({ workflow }) => ["workflows", "signal", workflow, "ok", '{"by": 1}'],
    shows: /ok was sent to/,
  },
  "workflows start": {
    args: of("workflows", "start", "new", '[{"name": "a", "type": "work"}]', ...tenant),
    shows: /new created: [0-9a-f-]+, 1 step/,
  },
};

/** Commands that other files test. */
const elsewhere = new Set(["move", "url", "worker"]);

/** Returns the names of all commands, without the groups. */
function leaves(command: Command, path: readonly string[] = []): string[] {
  return command.commands.flatMap((each) => {
    const name = [...path, each.name()];
    return each.commands.length > 0 ? leaves(each, name) : [name.join(" ")];
  });
}

/** A step that is due, one that needs it, and one that waits for a signal. */
const steps = (subject: string): object[] => [
  { name: "a", type: "part", subject },
  { name: "b", type: "part", needs: ["a"], subject },
  { name: "ok", signal: {} },
];

/** Creates the data of a scene. `named` changes its names and texts. */
async function setUp(
  db: TestDatabase,
  folder: Folder,
  named: (text: string) => string = (text) => text,
): Promise<Scene> {
  const enqueue = async (type: string, more = ""): Promise<string> =>
    await db.value<string>(
      `select jobforge_enqueue_job($1, $2, jsonb_build_object('to', $3::text), p_max_attempts => 1, p_subject => $3,
         p_tags => array[$3]${more}) ->> 'id'`,
      [T, named(type), named("someone")],
    );
  const [done, dead] = [await enqueue("work"), await enqueue("break")];
  const queued = await enqueue("work", ", p_run_at => now() + interval '1 day'");
  await db.query(
    `select jobforge_complete_job(id, $1, case type when $2 then 'succeeded' else 'failed' end,
       jsonb_build_object('message', $3::text), jsonb_build_object('text', $3::text))
     from jobforge_claim_jobs($1, 2, array[$2, $4])`,
    [named("w1"), named("work"), named("no such user"), named("break")],
  );
  await db.query(
    "select jobforge_heartbeat_worker($1, jsonb_build_object('types', array[$2, $4, 'part']::text[], 'host', $3::text))",
    [named("w1"), named("work"), named("host"), named("break")],
  );
  await db.query("select jobforge_set_gate('type', $1, true, $2)", [named("paused.type"), named("a reason")]);
  await db.query(
    `select jobforge_ensure_schedule('00000000-0000-0000-0000-000000000000', $1, $2, '{"every": "1h"}')`,
    [named("work"), named("hourly")],
  );
  await db.query("select jobforge_set_limit('key', $1, 5)", [named("limited")]);
  await createRiver(db);
  await db.query("insert into river_job (kind, args) values ($1, '{}')", [named("work")]);
  await db.query("select jobforge_maintain()");
  const key = await db.value<string>("select jobforge_create_token($1, 'jobforge_operator') ->> 'prefix'", [
    named("first"),
  ]);
  const workflow = await db.value<string>(
    `select jobforge_start_workflow($1, 'flow', $2, jsonb_build_object('to', $3::text),
       jsonb_build_object('subject', $3::text, 'version', $3::text)) ->> 'id'`,
    [T, JSON.stringify(steps(named("someone"))), named("someone")],
  );
  const failed = await db.value<string>("select jobforge_start_workflow($1, 'bad', $2) ->> 'id'", [
    T,
    JSON.stringify([{ name: "a", type: "bad", subject: named("someone") }]),
  ]);
  await db.query(
    "select jobforge_complete_job(id, 'w2', 'failed', p_retry => false) from jobforge_claim_jobs('w2', 10, '{bad}')",
  );
  const endpoint = await endpointWithDelivery(db, named);
  const ids = { queued, done, dead, key, workflow, failed, endpoint };
  return { url: db.url, handlers: join(folder.path, "handlers"), ...ids };
}

/** Creates an endpoint, and a delivery to it that has failed. */
async function endpointWithDelivery(db: TestDatabase, named: (text: string) => string): Promise<string> {
  const id = await db.value<string>(
    `select jobforge_set_webhook_endpoint($1, jsonb_build_object('url', 'https://example.com/hooks',
       'description', $2::text, 'headers', jsonb_build_object('x-team', 'blue'))) ->> 'id'`,
    [T, named("for the shop")],
  );
  await db.query("select jobforge_test_webhook_endpoint($1, $2)", [T, id]);
  await db.query(
    `select jobforge_complete_job(id, 'w3', 'failed', jsonb_build_object('message', $1::text), p_retry => false)
     from jobforge_claim_jobs('w3', 10, '{connector.webhook.deliver}')`,
    [named("no response")],
  );
  return id;
}

const handlers = `import { defineJob } from "@jobforge/sdk-ts";
export const it = defineJob({ type: "it" }).handle(() => 1);`;

const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, "g");

describe("every command", () => {
  plain("has an example here", () => {
    const quiet = { write: () => undefined };
    const program = createProgram({ process: { stdout: quiet, stderr: quiet, env: {} }, exitCode: 0 });
    expect(Object.keys(examples).sort()).toEqual(leaves(program).sort());
  });

  test.for(Object.entries(examples).filter(([name]) => !elsewhere.has(name)))(
    "%s",
    async ([, { args, shows, until, env = {} }], { db }) => {
      await using folder = await projectFolder({ "handlers/it.js": handlers });
      const first = await setUp(db, folder);
      const shown = await runUntil(args(first), { DATABASE_URL: db.url, ...env }, until, { terminal: {} });
      expect([shown.exitCode, shown.stdout.replaceAll(escapes, "")]).toEqual([
        0,
        expect.stringMatching(shows),
      ]);

      const second = await setUp(db, folder);
      const json = await runUntil([...args(second), "--json"], { DATABASE_URL: db.url, ...env }, until, {});
      expect(json).toMatchObject({ exitCode: 0, stderr: "" });
      const documents = until === undefined ? [json.stdout] : json.stdout.trim().split("\n");
      for (const document of documents) expect(JSON.parse(document)).toBeTypeOf("object");
      expect(json.stdout).not.toMatch(escapes);
    },
  );
});

/**
 * Sequences that move the cursor, set the title, hide text, write to the clipboard or turn text around, in both forms:
 * with ESC and with the control characters of C1.
 */
const attacks = [
  "\u001b[2J",
  "\u001b]0;title\u0007",
  "\u001b[8m",
  "\u001b]52;c;eA==\u001b\\",
  "\u009b2J",
  "\u009d0;title\u009c",
  "\u0007\b\r\u007f",
  "\u202e\u2066",
].join("x");
/** A type cannot contain such characters. */
const hostile = (text: string): string => (types.has(text) ? text : `${text}${attacks}`);
const types = new Set(["work", "break", "paused.type", "a", "new"]);
/** The words in the arguments of the examples that name something of the scene. */
const names = new Set(["work", "break", "hourly", "a", "new", "mine", "paused.type", "limited"]);
/** What a terminal may get: colours, printable text, tabs and line breaks, and the line of progress. */
const ownSequences = new RegExp(
  `${String.fromCharCode(27)}\\[(?:1|2|22|3[0-9]|90)m|\\r|${String.fromCharCode(27)}\\[K`,
  "g",
);
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what the test looks for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

describe("no value reaches a terminal as a control sequence:", () => {
  const cases = Object.entries(examples).filter(([name]) => !elsewhere.has(name));
  const formats = [["jobs export as csv", ["jobs", "export", "--format", "csv"]]] as const;

  test.for([
    ...cases.map(([name, { args, until, env }]) => ({ name, args, until, env })),
    ...formats.map(([name, args]) => ({ name, args: of(...args), until: /costCents/, env: {} })),
  ])("$name", async ({ args, until, env = {} }, { db }) => {
    await using folder = await projectFolder({ "handlers/it.js": handlers });
    for (const json of [[], ["--json"]]) {
      const scene = await setUp(db, folder, hostile);
      const given = args(scene).map((each) => (names.has(each) ? hostile(each) : each));
      const shown = await runUntil([...given, ...json], { DATABASE_URL: db.url, ...env }, until, {
        terminal: { columns: 1000 },
      });
      for (const text of [shown.stdout, shown.stderr])
        expect(controls.exec(text.replaceAll(ownSequences, "")), JSON.stringify(text)).toBeNull();
    }
  });

  test("an export to a file or a pipe is exact", async ({ db }) => {
    await using folder = await projectFolder({ "handlers/it.js": handlers });
    const { endpoint } = await setUp(db, folder, hostile);
    const piped = await run(["jobs", "export"], { DATABASE_URL: db.url });
    const jobs = piped.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; subject: string });
    const isDelivery = ({ type }: { type: string }) => type === "connector.webhook.deliver";
    expect(jobs.map(({ subject }) => subject)).toEqual(
      jobs.map((job) => (isDelivery(job) ? endpoint : hostile("someone"))),
    );
    const csv = await run(["jobs", "export", "--format", "csv"], { DATABASE_URL: db.url });
    expect(csv.stdout).toContain(hostile("someone"));
  });
});

/** Runs a command, and stops it as soon as its output matches `until`. */
async function runUntil(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  until: RegExp | undefined,
  options: Parameters<typeof run>[2],
): ReturnType<typeof run> {
  const stop = new AbortController();
  let printed = "";
  const onOutput = (text: string): void => {
    printed += text;
    if (until?.test(printed)) stop.abort();
  };
  return await run(args, env, { ...options, signal: stop.signal, onOutput });
}

describe.skipIf(!existsSync("/usr/bin/script"))("in a real terminal", () => {
  /** Starts the command in its own terminal. */
  function inTerminal(program: string, env: Readonly<Record<string, string>>, cwd: string): Terminal {
    const child = spawn(
      "script",
      ["--quiet", "--flush", "--return", "--command", `exec ${program}`, "/dev/null"],
      {
        cwd,
        env: { PATH: process.env["PATH"], TERM: "xterm", ...env },
        detached: true,
      },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    let shown = "";
    child.stdout.on("data", (chunk: Buffer) => {
      shown += chunk.toString("utf8");
    });
    const code = new Promise<number | null>((resolve) => child.on("close", resolve));
    return { type: (text) => void child.stdin.write(text), shown: () => shown, code };
  }

  interface Terminal {
    readonly type: (text: string) => void;
    readonly shown: () => string;
    readonly code: Promise<number | null>;
  }

  const jobforge = `${process.execPath} ${join(repository, "packages/cli/bin/jobforge.js")}`;
  const until = { timeout: 50_000 };

  test("there are colours, and a question waits for the reply", async ({ db }) => {
    await using folder = await temporaryFolder();
    await setUp(db, folder);
    const env = { DATABASE_URL: db.url };
    const list = inTerminal(`${jobforge} jobs list`, env, folder.path);
    expect(await list.code).toBe(0);
    expect(list.shown()).toMatch(escapes);
    const purge = inTerminal(`${jobforge} dead purge --type break`, env, folder.path);
    await expect.poll(purge.shown, until).toMatch(/\[y\/N\]|\(y\/N\)|\?/i);
    purge.type("n\n");
    expect(await purge.code).toBe(1);
    expect(await db.value("select count(*)::int from jobforge_jobs where status = 'dead'")).toBe(1);
  });

  test("a worker's log is readable text, and Ctrl-C ends the worker", async ({ db }) => {
    await using folder = await projectFolder({ "handlers/it.js": handlers });
    const worker = inTerminal(`${jobforge} worker handlers`, { DATABASE_URL: db.url }, folder.path);
    await expect.poll(worker.shown, until).toContain("Worker started");
    expect(worker.shown()).toMatch(escapes);
    worker.type("\u0003");
    expect(await worker.code).toBe(0);
  });

  test("Ctrl-C ends npm start, its server, its worker and its database", async () => {
    await using folder = await temporaryFolder();
    const start = inTerminal(
      `${process.execPath} ${join(repository, "scripts/start.js")} --directory ${folder.path}/data`,
      { JOBFORGE_SKIP_PREPARE: "1", PORT: "0" },
      folder.path,
    );
    await expect.poll(start.shown, until).toContain("The worker runs until Ctrl-C");
    const [, url = ""] = /Open (http:\/\/127\.0\.0\.1:\d+)/.exec(start.shown()) ?? [];
    const database = findEmbedded({ directory: join(folder.path, "data") });
    expect(database).toBeDefined();
    start.type("\u0003");
    expect(await start.code).toBe(0);
    expect(start.shown()).toContain("Stopping");
    await expect(fetch(url)).rejects.toThrow();
    expect(() => process.kill(database?.pid ?? 0, 0)).toThrow();
    expect(findEmbedded({ directory: join(folder.path, "data") })).toBeUndefined();
  });
});
