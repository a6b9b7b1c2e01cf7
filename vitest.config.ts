import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    // Tests run the sources of all packages, not the last build. tsconfig.json has the same paths for the type checker.
    alias: [
      { find: /^@jobforge\/sql$/, replacement: source("sql/src/index.ts") },
      { find: "@jobforge/sdk-ts/adapters", replacement: source("packages/sdk-ts/src/adapters.ts") },
      { find: "@jobforge/sdk-ts/internal", replacement: source("packages/sdk-ts/src/internal.ts") },
      { find: "@jobforge/worker-ts/runtime", replacement: source("packages/worker-ts/src/runtime.ts") },
      {
        find: "@jobforge/connectors/verify",
        replacement: source("packages/connectors/src/verify.ts"),
      },
      { find: /^@jobforge\/([\w-]+)$/, replacement: source("packages/$1/src/index.ts") },
      { find: /^jobforge$/, replacement: source("packages/cli/src/index.ts") },
      { find: /^jobforge\/testing$/, replacement: source("packages/cli/src/testing.ts") },
    ],
  },
  test: {
    globalSetup: ["test/server.ts"],
    include: [
      "sql/test/**/*.test.ts",
      "packages/*/test/**/*.test.ts",
      "docs/test/**/*.test.ts",
      "bench/test/**/*.test.ts",
      "chaos/test/**/*.test.ts",
      "attack/test/**/*.test.ts",
      "conformance/test/*.test.ts",
      "examples/test/*.test.ts",
      "test/*.test.ts",
    ],
    // Tests mostly wait for Postgres, so this may exceed the number of cores.
    maxWorkers: 4,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A condition that comes true late on a busy machine is not a failure.
    expect: { poll: { timeout: 20_000 } },
  },
});
