/**
 * `npm start`: makes the checkout ready, then runs `jobforge dev --demo`. Further arguments are passed on to
 * `jobforge dev`, as in `npm start -- --port 8080`.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { prepare, root } from "./prepare.js";

prepare();
const command = [join(root, "packages/cli/bin/jobforge.js"), "dev", "--demo", ...process.argv.slice(2)];
const child = spawn(process.execPath, command, { cwd: root, stdio: "inherit" });
// The child stops everything it has started, and this process exits with the child. In a terminal, Ctrl-C reaches the
// child directly, so it is not forwarded.
process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill("SIGTERM"));
child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 130)));
