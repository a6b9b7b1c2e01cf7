/** How the dashboard is built: into the server's package, with relative addresses, so that it works at any path. */
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

/** The minifier removes the order of the layers and may put those of a page first. Then the base would win. */
const layerOrder: Plugin = {
  name: "layer-order",
  enforce: "post",
  generateBundle: (_, bundle) => {
    for (const file of Object.values(bundle))
      if (file.type === "asset" && file.fileName.endsWith(".css"))
        file.source = `@layer tokens,base,components;${file.source}`;
  },
};

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./",
  logLevel: "warn",
  plugins: [layerOrder],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: fileURLToPath(new URL("../server/dist/dashboard", import.meta.url)),
    emptyOutDir: true,
    target: ["chrome123", "firefox120", "safari17.5"],
    // A data: address would break the content security policy, and the polyfill would be an inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One file, so that the order of its layers can be said at its beginning.
    cssCodeSplit: false,
    manifest: "manifest.json",
  },
});
