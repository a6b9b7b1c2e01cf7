/** `npm start`: makes the checkout ready, then shows JobForge at work. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { prepare, root } from "./prepare.js";

prepare();
const child = spawn(process.execPath, [join(root, "packages/cli/bin/jobforge.js"), "demo"], {
  cwd: root,
  stdio: "inherit",
});
// Ctrl-C reaches the child as well; it stops its server, and this process ends with it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(code ?? (signal === null ? 1 : 130)));
