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

/** The modules that the first page imports, directly or not. They are one file, so that it is one request. */
const first = new Set<string>();
const firstLoad: Plugin = {
  name: "first-load",
  buildEnd() {
    const add = (id: string): void => {
      if (first.has(id)) return;
      first.add(id);
      for (const next of this.getModuleInfo(id)?.importedIds ?? []) add(next);
    };
    for (const id of this.getModuleIds()) if (this.getModuleInfo(id)?.isEntry) add(id);
  },
};

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./",
  logLevel: "warn",
  plugins: [layerOrder, firstLoad],
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
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: "first", test: (id) => first.has(id) }] } },
    },
  },
});
