/** The process around the command: arguments in, exit code out. */
import { runCli } from "./index.ts";

process.exitCode = await runCli(process.argv.slice(2), process);
