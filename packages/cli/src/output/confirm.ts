/** Asks before something that cannot be undone. */
import { createInterface } from "node:readline";
import { CommandError, UsageError } from "../failures.ts";
import type { CliProcess } from "../process.ts";

/** Comes back when the caller agreed: by --yes, or by typing y. Where nobody can be asked, --yes is needed. */
export async function confirm(question: string, yes: boolean | undefined, cli: CliProcess): Promise<void> {
  if (yes) return;
  const { stdin, stderr } = cli;
  if (stdin?.isTTY !== true) {
    throw new UsageError(`${question} There is no terminal to ask in: pass --yes.`);
  }
  const lines = createInterface({ input: stdin });
  try {
    stderr.write(`${question} Go on? [y/N] `);
    const answer = await new Promise<string>((resolve) => {
      lines.once("line", resolve);
      lines.once("close", () => resolve(""));
    });
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("declined", "Nothing was changed.", "");
  } finally {
    lines.close();
  }
}
