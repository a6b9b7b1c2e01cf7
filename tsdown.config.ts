import { defineConfig, type UserConfig } from "tsdown";

const options: UserConfig = {
  platform: "node",
  target: "node20.19",
  dts: true,
  sourcemap: true,
  fixedExtension: false,
  checks: { legacyCjs: false, pluginTimings: false },
};

/**
 * How every package is built: ES modules, and CommonJS with its own declarations. Node loads the ES modules for
 * `require` too. CommonJS is for Jest and for bundlers, which cannot do that.
 */
export const builds: readonly UserConfig[] = [
  {
    ...options,
    format: "esm",
    entry: ["src/{index,main,adapters,internal,runtime,testing,verify}.ts"],
    clean: true,
  },
  {
    ...options,
    format: "cjs",
    entry: ["src/{index,adapters,internal,runtime,testing,verify}.ts"],
    clean: false,
    // Sets `import.meta.url`, which CommonJS does not have.
    shims: true,
    // Jest cannot run `import()` in CommonJS.
    outputOptions: { dynamicImportInCjs: false },
  },
];

export default defineConfig(
  builds.map((build) => ({
    ...build,
    // The dashboard is built by scripts/dashboard.js.
    workspace: { include: ["sql", "packages/*"], exclude: ["packages/dashboard"] },
  })),
);
