import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["jobforge-source"] },
  ssr: { resolve: { conditions: ["jobforge-source"] } },
  test: {
    globalSetup: ["test/server.ts"],
    include: ["sql/test/**/*.test.ts", "packages/*/test/**/*.test.ts", "docs/test/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
});
