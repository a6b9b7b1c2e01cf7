/** Tests of the help: how it is asked for, and that what it says can be typed. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../src/run.ts";
import { projectFolder } from "./files.ts";
import { run } from "./support.ts";

test.for([
  [["help"], "Usage: jobforge [options] [command]"],
  [["help", "stats"], "Usage: jobforge stats [options]"],
  [["help", "jobs"], "Usage: jobforge jobs [options] [command]"],
  [["help", "jobs", "list"], "Usage: jobforge jobs list [options]"],
  [["jobs", "help", "list"], "Usage: jobforge jobs list [options]"],
  [["jobs", "list", "--help"], "Usage: jobforge jobs list [options]"],
])("%j shows the help of the command", async ([args, usage]) => {
  const { exitCode, stdout, stderr } = await run(args as string[]);
  expect({ exitCode, stderr, usage: stdout.split("\n")[0] }).toEqual({ exitCode: 0, stderr: "", usage });
});

test.for([
  ["help", "enqeue"],
  ["enqeue", "--help"],
])("a command that does not exist has no help: %j", async (args) => {
  expect(await run(args)).toEqual({
    exitCode: 2,
    stdout: "",
    stderr: "unknown command 'enqeue'\n(Did you mean enqueue?)\nRun jobforge --help.\n",
  });
});

test("without a command the help is shown, and the exit code is that of wrong usage", async () => {
  const { exitCode, stdout } = await run(["jobs"]);
  expect({ exitCode, usage: stdout.split("\n")[0] }).toEqual({
    exitCode: 2,
    usage: "Usage: jobforge jobs [options] [command]",
  });
});

test("the usage and the examples can be typed where the command is installed in a project", async () => {
  await using project = await projectFolder({});
  let help = "";
  const stream = {
    write: (text: string) => {
      help += text;
    },
  };
  const program = join(project.path, "node_modules/.bin/jobforge");
  const argv = [process.execPath, program];
  await runCli(["dead", "list", "--help"], {
    ...{ stdout: stream, stderr: stream, env: { PATH: "" }, argv },
    cwd: () => project.path,
  });
  expect(help).toMatch(/^Usage: npx jobforge dead list \[options\]$/m);
  expect(help).toMatch(/^ {2}npx jobforge dead list --type mail\.send --finished-after 1d --json$/m);
  expect(help).not.toMatch(/^ *jobforge /m);
});
