/** Asks for confirmation before changes that cannot be undone. */
import { createInterface } from "node:readline";
import { CommandError, UsageError } from "../failures.ts";
import type { CliProcess } from "../process.ts";
import { shownOn } from "./terminal.ts";

/** Resolves when the user agrees, by --yes or by typing y. Without a terminal, --yes is required. */
export async function confirm(question: string, yes: boolean | undefined, cli: CliProcess): Promise<void> {
  if (yes) return;
  const { stdin, stderr } = cli;
  if (stdin?.isTTY !== true) {
    throw new UsageError(`${question} There is no terminal for the confirmation: pass --yes.`);
  }
  const lines = createInterface({ input: stdin });
  try {
    stderr.write(shownOn(stderr, `${question} Continue? [y/N] `));
    const reply = await new Promise<string>((resolve) => {
      lines.once("line", resolve);
      lines.once("close", () => resolve(""));
    });
    if (!/^y(es)?$/i.test(reply.trim())) throw new CommandError("declined", "Nothing was changed.", "");
  } finally {
    lines.close();
  }
}
