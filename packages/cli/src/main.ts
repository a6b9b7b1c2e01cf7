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
// The process ends by itself when nothing is open. Handlers may have left something open that would keep it alive for
// ever, such as a timer or a pool.
await Promise.all([written(process.stdout), written(process.stderr)]);
setTimeout(() => process.exit(), 500).unref();

/** Resolves when everything that was written to the stream has been passed on. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => void stream.write("", () => resolve()));
}
