import { defineConfig } from "tsdown";

/** Every workspace builds the same way: one ESM entry per file named here, with declarations. */
export default defineConfig({
  workspace: ["sql", "packages/*"],
  entry: ["src/{index,main,adapters}.ts"],
  format: "esm",
  platform: "node",
  target: "node20.19",
  dts: true,
  sourcemap: true,
  clean: true,
  fixedExtension: false,
});
