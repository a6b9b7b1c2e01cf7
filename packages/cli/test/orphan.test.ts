/** A command that npm, npx or pnpm has started ends with their shell, which passes no signal on. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { projectFolder, repository } from "./files.ts";
import { test } from "./support.ts";

const command = join(repository, "packages/cli/bin/jobforge.js");
const handlers = {
  "handlers/a.mjs":
    'import { defineJob } from "@jobforge/sdk-ts"; export const a = defineJob({ type: "a" }).handle(() => 1);',
};

test("a worker whose shell was ended stops as by SIGTERM, and says so", { timeout: 120_000 }, async ({
  db,
}) => {
  await using project = await projectFolder(handlers);
  // With a second command the shell stays, as dash does for npm, and the worker is its child.
  const script = `"${process.execPath}" "${command}" worker ./handlers --id orphan & echo "pid $!"; wait`;
  const shell = spawn("sh", ["-c", script], {
    cwd: project.path,
    env: { PATH: process.env["PATH"], DATABASE_URL: db.url, npm_command: "exec" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  shell.stdout.on("data", (chunk: Buffer) => {
    printed += chunk.toString("utf8");
  });
  await expect.poll(() => printed, { timeout: 60_000 }).toContain("Worker started");
  const pid = Number(/^pid (\d+)$/m.exec(printed)?.[1]);
  const isAlive = (): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  onTestFinished(() => void (isAlive() && process.kill(pid, "SIGKILL")));
  const closed = once(shell.stdout, "close");
  shell.kill("SIGTERM");
  // The output closes when the last process that has it ends.
  await closed;
  expect(printed).toContain("Worker stopped");
  await expect.poll(isAlive).toBe(false);
  expect(await db.value("select status from jobforge_list_workers() where id = 'orphan'")).toBe("stopped");
});
