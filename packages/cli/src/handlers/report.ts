/** Shows what a command found in the files of the handlers. */
import type { Cli } from "../command.ts";
import { type Output, toJson } from "../output/output.ts";
import { styleFor } from "../output/style.ts";
import type { Finding } from "./load.ts";

/** Returns a function that writes a finding to standard error: a line, or with --json a document. */
export function reporting(cli: Cli, output: Output): (finding: Finding) => void {
  const style = styleFor(cli.process.stderr, cli.process.env);
  return (finding) => {
    if (output.json) return void cli.process.stderr.write(`${toJson(finding)}\n`);
    if (finding.event === "ignored") return output.remark(`${style("yellow", "!")} ${finding.message}`);
    const rest = "Its handlers do not run until it is fixed. The other files are not affected.";
    output.remark(`${style("red", `✗ ${finding.message}`)}\n  ${rest}`);
  };
}
