/** Tests of jobforge token: keys are created, listed and revoked, and a key is shown only once. */
import { expect } from "vitest";
import { json, run, T, test } from "./support.ts";

interface Created {
  readonly id: string;
  readonly token: string;
  readonly prefix: string;
}

test("a key is shown when it is created, and never again", async ({ db }) => {
  const env = { DATABASE_URL: db.url };
  const made = await run(
    ["token", "create", "The shop", "--role", "jobforge_app", "--tenant", T, "--expires", "90d"],
    env,
    { terminal: { columns: 200 } },
  );
  expect(made.exitCode).toBe(0);
  expect(made.stdout).toMatch(/^jf_[0-9a-f]{8}_[0-9a-f]{64}\n$/);
  expect(made.stderr).toContain("not shown again");
  const created = await json<Created>(["token", "create", "ops", "--role", "jobforge_operator"], db.url);
  expect(created).toMatchObject({ name: "ops", role: "jobforge_operator", tenantId: null, expiresAt: null });
  expect(created.token.startsWith(created.prefix)).toBe(true);
  const listed = await run(["token", "list"], env, { terminal: { columns: 200 } });
  expect(listed.stdout).toContain(created.prefix);
  expect(listed.stdout).toContain("The shop");
  expect(listed.stdout).toContain("\u001b[32m");
  const document = await run(["token", "list", "--json"], env);
  expect(JSON.parse(document.stdout)).toMatchObject({
    items: [{ name: "ops" }, { name: "The shop", role: "jobforge_app", tenantId: T, revokedAt: null }],
    cursor: null,
  });
  for (const secret of [created.token, made.stdout.trim()])
    expect(`${listed.stdout}${document.stdout}`).not.toContain(secret.slice(12));
});

test("a key is revoked by its prefix or id, and is no longer listed", async ({ db }) => {
  const create = (name: string): Promise<Created> =>
    json<Created>(["token", "create", name, "--role", "jobforge_reader"], db.url);
  const [a, b] = [await create("a"), await create("b")];
  expect(await run(["token", "revoke", a.prefix], { DATABASE_URL: db.url })).toMatchObject({
    exitCode: 0,
    stdout: `${a.prefix} (a) is revoked.\n`,
  });
  expect(await json(["token", "revoke", b.id], db.url)).toMatchObject({ id: b.id, name: "b" });
  expect(await run(["token", "list"], { DATABASE_URL: db.url })).toMatchObject({ stdout: "No keys.\n" });
  expect(await json(["token", "list", "--all"], db.url)).toMatchObject({
    items: [{ name: "b" }, { name: "a" }],
  });
  const gone = await run(["token", "list", "--all"], { DATABASE_URL: db.url }, { terminal: {} });
  expect(gone.stdout).toContain("revoked");
});

test("the exit code tells wrong usage, a missing key and a missing permission apart", async ({ db }) => {
  const env = { DATABASE_URL: db.url };
  for (const args of [
    ["create", "x"],
    ["create", "x", "--role", "postgres"],
    ["create", "x", "--role", "jobforge_app"],
    ["create", "x", "--role", "jobforge_reader", "--tenant", T],
    ["create", "x", "--role", "jobforge_reader", "--expires", "2001-01-01T00:00:00Z"],
  ])
    expect([args, await run(["token", ...args], env)]).toMatchObject([args, { exitCode: 2, stdout: "" }]);
  expect((await run(["token", "create", "x", "--role", "jobforge_app"], env)).stderr).toContain(
    "Pass --tenant.",
  );
  expect(await run(["token", "revoke", "jf_00000000"], env)).toMatchObject({ exitCode: 4, stdout: "" });
  const { url } = await db.createLogin("jobforge_reader");
  expect(await run(["token", "list"], { DATABASE_URL: url })).toMatchObject({ exitCode: 1, stdout: "" });
});
