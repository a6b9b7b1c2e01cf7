/** `npm start`: makes the checkout ready, then shows JobForge at work. What follows it, as in `npm start -- --port 8080`, is for `jobforge dev`. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { prepare, root } from "./prepare.js";

prepare();
const command = [join(root, "packages/cli/bin/jobforge.js"), "dev", "--demo", ...process.argv.slice(2)];
const child = spawn(process.execPath, command, { cwd: root, stdio: "inherit" });
// The child ends what it has started, and this process ends with it. Ctrl-C in a terminal has reached the child already.
process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill("SIGTERM"));
child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 130)));
