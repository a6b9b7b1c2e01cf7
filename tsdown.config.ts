import { defineConfig } from "tsdown";

/** All workspaces are built the same way: one ESM bundle with type declarations for each entry file. */
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
