/** `npm run screenshots`: makes the pictures of the dashboard in `docs/guides/dashboard/` again. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const vitest = fileURLToPath(new URL("../node_modules/vitest/vitest.mjs", import.meta.url));
const files = "packages/dashboard/test/screenshots.test.ts";
const { status } = spawnSync(process.execPath, [vitest, "run", files, ...process.argv.slice(2)], {
  stdio: "inherit",
  env: { ...process.env, JOBFORGE_SCREENSHOTS: "1", JOBFORGE_REQUIRE_TOOLS: "1" },
});
process.exit(status ?? 1);
