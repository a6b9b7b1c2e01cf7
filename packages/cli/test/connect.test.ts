/** Every command that needs a database ends at once, with exit code 3 and a readable message, if it cannot connect. */
import { chmod } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished } from "vitest";
import { startJobforge, startNode } from "./child.ts";
import { projectFolder, repository, temporaryFolder } from "./files.ts";
import { run, test } from "./support.ts";

const handler = `import { defineJob } from "@jobforge/sdk-ts";
export const it = defineJob({ type: "it" }).handle(() => 1);`;

function changed(url: string, change: (url: URL) => void): string {
  const other = new URL(url);
  change(other);
  return other.href;
}

const commands: readonly string[] = [
  "dev",
  "doctor",
  "enqueue mail",
  "jobs list",
  "jobs tail",
  "migrate",
  "migrate --status",
  "schedules list",
  "server --port 0",
  "stats",
  "tick handlers",
  "token list",
  "worker handlers",
  "workers",
];

describe("without a password", () => {
  test.for(commands)("jobforge %s", async (command, { db }) => {
    await using project = await projectFolder({ "handlers/it.js": handler });
    const DATABASE_URL = changed(db.url, (url) => {
      url.password = "";
    });
    const child = startJobforge(command.split(" "), { cwd: project.path, env: { DATABASE_URL } });
    // A connection that stays open keeps the process alive for a minute, which is as long as this test may take.
    expect(await child.ended, child.stderr()).toEqual({ code: 3, signal: null });
    expect(child.stdout() + child.stderr()).toContain("the server asks for a password");
    expect(child.stdout() + child.stderr()).not.toMatch(/SASL|SCRAM/);
  });
});

describe("the message says what to do", () => {
  const stats = async (url: string, args: readonly string[] = ["stats"]): Promise<string> => {
    const { exitCode, stderr } = await run(args, { DATABASE_URL: url });
    expect(exitCode, stderr).toBe(3);
    expect(stderr).toMatch(/^No connection to the database: /);
    return stderr;
  };

  test("if the host is not known, perhaps because the password is not encoded", async () => {
    const stderr = await stats("postgres://me:12/34@db.invalid/app");
    expect(stderr).toContain("the host of me:12 is not known");
    expect(stderr).toContain("Percent-encode");
  });

  test("if the password or the database is wrong", async ({ db }) => {
    const password = changed(db.url, (url) => {
      url.password = "s3cret";
    });
    const database = changed(db.url, (url) => {
      url.pathname = "/no_such_database";
    });
    expect(await stats(password)).toContain("Check the user and the password.");
    expect(await stats(database)).toContain("Create the database");
    expect(await stats(password, ["migrate"])).toContain("Check the user and the password.");
  });

  test("if nothing listens, or the server does not support TLS", async ({ db }) => {
    expect(await stats("postgres://me@127.0.0.1:1/app")).toContain("nothing listens on 127.0.0.1:1");
    const tls = await stats(`${db.url}?sslmode=verify-full`);
    expect(tls).toContain("does not support SSL");
    expect(tls).toContain("Check sslmode and sslrootcert in the database URL.");
  });

  test("if DATABASE_URL names a server that no longer runs, and dev has one of its own", async () => {
    const { exitCode, stderr } = await run(["dev"], { DATABASE_URL: "postgres://me@127.0.0.1:1/app" });
    expect(exitCode).toBe(3);
    expect(stderr).toContain("nothing listens on 127.0.0.1:1");
    expect(stderr).toContain("unset DATABASE_URL to run the embedded database.");
    const given = await run(["dev", "--database-url", "postgres://me@127.0.0.1:1/app"]);
    expect(given.exitCode).toBe(3);
    expect(given.stderr).toContain("Check --database-url");
  });

  test("if something else than Postgres listens", async () => {
    const other = createServer((socket) =>
      socket.on("error", () => undefined).end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    );
    onTestFinished(() => void other.close());
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const address = other.address();
    const port = typeof address === "object" ? address?.port : undefined;
    await stats(`postgres://me@127.0.0.1:${port}/app`);
    await stats(`postgres://me@127.0.0.1:${port}/app`, ["migrate"]);
  });
});

test("an error of the database that has no name of its own is introduced, with its code", async ({ db }) => {
  await db.query("alter table jobforge.gates add constraint mine check (false)");
  const { exitCode, stderr } = await run(["gates", "pause", "--type", "mail"], { DATABASE_URL: db.url });
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^The database reported an error: .* \(SQLSTATE 23514\)$/m);
});

test("a timer or a pool that a handler's module leaves open does not keep the command alive", async ({
  db,
}) => {
  await using project = await projectFolder({
    "handlers/it.js": `${handler}\nsetInterval(() => undefined, 1000);`,
  });
  const tick = startJobforge(["tick", "handlers"], { cwd: project.path, env: { DATABASE_URL: db.url } });
  expect(await tick.ended, tick.stderr()).toEqual({ code: 0, signal: null });
  expect(tick.stdout()).toBe("No jobs were due.\n");
});

describe("a suggested command can be typed", () => {
  const hint = async (program: string, cwd: string, env: Record<string, string> = {}): Promise<string> => {
    const child = startNode(program, ["stats"], { cwd, env });
    expect(await child.ended).toMatchObject({ code: 2 });
    return child.stderr();
  };
  const program = join(repository, "packages/cli/bin/jobforge.js");

  test("with npx or another package manager in a project", async () => {
    await using project = await projectFolder({});
    expect(await hint(program, project.path)).toContain("or run npx jobforge dev in");
    const pnpm = { npm_config_user_agent: "pnpm/10.1.0 npm/? node/v20" };
    expect(await hint(program, project.path, pnpm)).toContain("or run pnpm exec jobforge dev in");
    // npx puts this folder on the PATH of the command only.
    const npx = { PATH: `${join(project.path, "node_modules/.bin")}:${process.env["PATH"]}` };
    expect(await hint(program, project.path, npx)).toContain("or run npx jobforge dev in");
  });

  test("also in the advice of doctor and in remarks", async ({ db }) => {
    await using project = await projectFolder({});
    const env = { DATABASE_URL: db.url };
    const doctor = startNode(program, ["doctor"], { cwd: project.path, env });
    await doctor.ended;
    expect(doctor.stdout()).toContain("→ Start a worker: npx jobforge worker ./handlers");
    const gates = startNode(program, ["gates", "pause", "--type", "unknown"], { cwd: project.path, env });
    await gates.ended;
    expect(gates.stderr()).toContain("See npx jobforge types list.");
  });

  test("as jobforge if it is installed for the machine", async () => {
    await using project = await projectFolder({});
    await project.write("bin/jobforge", "");
    const bin = join(project.path, "bin");
    await chmod(join(bin, "jobforge"), 0o755);
    expect(await hint(program, project.path, { PATH: `${bin}:${process.env["PATH"]}` })).toContain(
      "or run jobforge dev in",
    );
  });

  test("by its path if nothing is installed", async () => {
    await using folder = await temporaryFolder();
    expect(await hint(program, folder.path)).toContain(`or run node ${program} dev in`);
  });
});
