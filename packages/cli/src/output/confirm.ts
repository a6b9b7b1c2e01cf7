/** Asks for confirmation before changes that cannot be undone. */
import { createInterface } from "node:readline";
import { CommandError, UsageError } from "../failures.ts";
import type { CliProcess } from "../process.ts";
import { shownOn } from "./terminal.ts";

/** Resolves when the user agrees, by --yes or by typing y. Without a terminal, --yes is required. */
export async function confirm(question: string, yes: boolean | undefined, cli: CliProcess): Promise<void> {
  if (yes) return;
  if (cli.stdin?.isTTY !== true) {
    throw new UsageError(`${question} There is no terminal for the confirmation: pass --yes.`);
  }
  const reply = await ask(`${question} Continue? [y/N] `, cli);
  if (!/^y(es)?$/i.test(reply)) throw new CommandError("declined", "Nothing was changed.", "");
}

/** Shows a question and returns the line that the user types, without surrounding spaces. */
export async function ask(question: string, { stdin, stderr }: CliProcess): Promise<string> {
  if (stdin === undefined) return "";
  const lines = createInterface({ input: stdin });
  try {
    stderr.write(shownOn(stderr, question));
    const reply = await new Promise<string>((resolve) => {
      lines.once("line", resolve);
      lines.once("close", () => resolve(""));
    });
    return reply.trim();
  } finally {
    lines.close();
  }
}
