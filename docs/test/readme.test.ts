/**
 * Follows the README's first job as a newcomer does: puts the handler into a folder, starts `jobforge dev`, and runs
 * the commands in another terminal.
 */
import { expect, test } from "vitest";
import { startJobforge, startNode } from "../../packages/cli/test/child.ts";
import { projectFolder } from "../../packages/cli/test/files.ts";
import { readPage } from "./markdown.ts";

test("the README's first job runs and prints what the README shows", async () => {
  const { blocks, text } = readPage("README.md");
  const handler = blocks.find(({ language }) => language === "js")?.text ?? "";
  const terminal = blocks.find(({ language }) => language === "console")?.text ?? "";
  expect(text).toContain("`handlers/receipt.mjs`");
  await using project = await projectFolder({ "handlers/receipt.mjs": handler });
  const dev = startJobforge(["dev"], { cwd: project.path });
  await dev.printed("Running the handlers in handlers");
  expect(dev.stdout()).toMatch(/^• Open http:\S+ in a browser/m);
  const samples = terminal.split(/^\$ npx jobforge /m).slice(1);
  expect(samples.length).toBeGreaterThan(2);
  for (const sample of samples) {
    const [command = "", ...expected] = sample.trim().split("\n");
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "");
    const child = startJobforge(words, { cwd: project.path });
    const { code } = await child.ended;
    expect(code, `${command}\n${child.stdout()}${child.stderr()}`).toBe(0);
    if (expected.length > 0) expect(child.stdout().trim()).toBe(expected.join("\n"));
  }
  // The program of the README finds the database by this command.
  expect(text).toContain("export DATABASE_URL=$(npx jobforge url)");
  const url = startJobforge(["url"], { cwd: project.path });
  expect(await url.ended).toMatchObject({ code: 0 });
  expect(dev.stdout()).toContain(`DATABASE_URL=${url.stdout().trim()}\n`);
  // Plain Node runs the program, without a compiler.
  expect(text).toContain("run it with `node first.mjs`");
  await project.write("first.mjs", blocks.find(({ language }) => language === "ts")?.text ?? "");
  const env = { DATABASE_URL: url.stdout().trim() };
  const program = startNode("first.mjs", [], { cwd: project.path, env });
  expect(await program.ended, program.stderr()).toMatchObject({ code: 0 });
  expect(program.stdout()).toContain("sent the receipt of order 42\n");
  dev.process.kill("SIGINT");
  expect(await dev.ended).toEqual({ code: 0, signal: null });
});
