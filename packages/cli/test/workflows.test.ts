/** `jobforge workflows`: the drawing of graphs, and what is refused. */
import { expect } from "vitest";
import { drain, refuse, succeed } from "../../../sql/test/support/workflows.ts";
import { run, T, test } from "./support.ts";

/** The lines of the graph, with one space between columns. */
function graphOf(shown: string): string[] {
  const lines = shown.trimEnd().split("\n");
  return lines.slice(lines.indexOf("") + 2).map((line) => line.replaceAll(/(?<=\S) {2,}/g, " | "));
}

test("a graph is drawn with its branches, its sub-workflows and the items of its maps", async ({ db }) => {
  const steps = [
    { name: "list", type: "t" },
    { name: "each", type: "t", map: { over: [1, 2, 3] }, needs: ["list"] },
    { name: "other", type: "t", needs: ["list"] },
    {
      name: "sub",
      needs: ["other"],
      steps: [
        { name: "x", type: "t" },
        { name: "y", type: "t", needs: ["x"] },
      ],
    },
    { name: "join", type: "t", needs: [{ step: "each", policy: "run" }, "sub"] },
    { name: "alone", type: "t" },
  ];
  const env = { DATABASE_URL: db.url };
  const started = await run(
    ["workflows", "start", "flow", JSON.stringify(steps), "--tenant", T, "--json"],
    env,
  );
  const { id } = JSON.parse(started.stdout) as { id: string };
  await drain(db, (job) => (job.path === "each[1]" || job.path === "sub/y" ? refuse : succeed(job)));
  const shown = await run(["workflows", "show", id], env);
  expect(graphOf(shown.stdout).map((line) => line.replace(/ \| \d+m?s/, ""))).toEqual([
    "list | succeeded | t",
    "├─ each | failed | t, 3 items, 2 succeeded, 1 failed | 1 step ended badly",
    "└─ other | succeeded | t",
    "   └─ sub | failed | sub-workflow | 1 step ended badly",
    "      ├─ join | canceled | t | each",
    "      └─ x | succeeded | t",
    "         └─ y | failed | t | refused",
    "alone | succeeded | t",
  ]);
});

test("keys that a policy hides are hidden in the input and in the payloads", async ({ db }) => {
  const env = { DATABASE_URL: db.url };
  await db.query(`select jobforge_set_policy('t', '{"redact": ["card"]}')`);
  const steps = [{ name: "a", type: "t", payload: { card: "4242", sum: { $input: "sum" } } }];
  const start = ["workflows", "start", "pay", JSON.stringify(steps), "--tenant", T, "--json"];
  const started = await run([...start, "--input", '{"card": "4242", "sum": 5}'], env);
  const { id } = JSON.parse(started.stdout) as { id: string };
  for (const more of [[], ["--json"]]) {
    const { stdout } = await run(["workflows", "show", id, ...more], env);
    expect(stdout).not.toContain("4242");
    expect(stdout).toContain("[redacted]");
  }
});

test("a workflow that has ended or does not exist is refused", async ({ db }) => {
  const env = { DATABASE_URL: db.url };
  const start = ["workflows", "start", "flow", '[{"name": "a", "type": "t"}]', "--tenant", T, "--json"];
  const { id } = JSON.parse((await run(start, env)).stdout) as { id: string };
  await drain(db);
  const late = await run(["workflows", "signal", id, "ok"], env);
  expect(late).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("has ended: succeeded") });
  const unknown = "99999999-9999-4999-8999-999999999999";
  expect(await run(["workflows", "show", unknown], env)).toMatchObject({ exitCode: 4 });
  expect(await run(["workflows", "cancel", "x"], env)).toMatchObject({ exitCode: 2 });
  expect(await run(["workflows", "list", "--tenant", T, "--status", "over"], env)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("running, succeeded, failed or canceled"),
  });
});

test("a step that failed is resolved with a result, or skipped", async ({ db }) => {
  const env = { DATABASE_URL: db.url };
  const steps = [
    { name: "a", type: "t" },
    { name: "b", type: "t" },
    { name: "c", type: "t", payload: { got: { $result: "a" } } },
  ];
  const started = await run(
    ["workflows", "start", "flow", JSON.stringify(steps), "--tenant", T, "--json"],
    env,
  );
  const { id } = JSON.parse(started.stdout) as { id: string };
  await drain(db, () => refuse);
  const resolved = await run(["workflows", "resolve", id, "a", '{"by": "hand"}'], env);
  expect(resolved).toMatchObject({ exitCode: 0, stdout: `a of ${id} is succeeded.\n` });
  const skipped = await run(["workflows", "resolve", id, "b", "--skip", "--json"], env);
  expect(JSON.parse(skipped.stdout)).toEqual({ id, step: "b", status: "skipped" });
  const payloads: unknown[] = [];
  await drain(db, (job) => {
    payloads.push(job.payload);
    return succeed(job);
  });
  expect(payloads).toEqual([{ got: { by: "hand" } }]);
  const again = await run(["workflows", "resolve", id, "a"], env);
  expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("cannot be resolved") });
  expect(await run(["workflows", "resolve", id, "b", "1", "--skip"], env)).toMatchObject({ exitCode: 2 });
});
