/** The process around the command: arguments in, exit code out. */
import { runCli } from "./index.ts";

// Who reads our output may have enough of it, as `head` does: then it ends as if Ctrl-C had been pressed. Anything else is trouble.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") {
    process.kill(process.pid, "SIGTERM");
    return;
  }
  process.stderr.write(`Standard output cannot be written: ${error.message}\n`);
  process.exit(1);
});

process.exitCode = await runCli(process.argv.slice(2), process);
