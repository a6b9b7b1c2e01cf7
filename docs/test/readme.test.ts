/**
 * Follows the README's first job as a newcomer does: puts the handler into a folder, starts `jobforge dev`, and runs
 * the commands in another terminal.
 */
import { expect, test } from "vitest";
import { startJobforge } from "../../packages/cli/test/child.ts";
import { projectFolder } from "../../packages/cli/test/files.ts";
import { readPage } from "./markdown.ts";

test("the README's first job runs and prints what the README shows", async () => {
  const { blocks, text } = readPage("README.md");
  const handler = blocks.find(({ language }) => language === "js")?.text ?? "";
  const terminal = blocks.find(({ language }) => language === "console")?.text ?? "";
  expect(text).toContain("`handlers/receipt.js`");
  await using project = await projectFolder({ "handlers/receipt.js": handler });
  const dev = startJobforge(["dev"], { cwd: project.path });
  await dev.printed("Running the handlers in handlers");
  for (const sample of terminal.split(/^\$ jobforge /m).slice(1)) {
    const [command = "", ...expected] = sample.trim().split("\n");
    const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? "");
    const child = startJobforge(words, { cwd: project.path });
    const { code } = await child.ended;
    expect(code, `${command}\n${child.stdout()}${child.stderr()}`).toBe(0);
    if (expected.length > 0) expect(child.stdout().trim()).toBe(expected.join("\n"));
  }
  dev.process.kill("SIGINT");
  expect(await dev.ended).toEqual({ code: 0, signal: null });
});
