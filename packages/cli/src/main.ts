/** Runs the command in a process: passes its arguments and sets its exit code. */
import { runCli } from "./run.ts";

// The reader of our output may close it early, as `head` does. Then the command ends as if Ctrl-C had been pressed.
// Any other write error is a failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") {
    process.kill(process.pid, "SIGTERM");
    return;
  }
  process.stderr.write(`Cannot write to standard output: ${error.message}\n`);
  process.exit(1);
});

process.exitCode = await runCli(process.argv.slice(2), process);
