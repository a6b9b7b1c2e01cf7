/** How the dashboard is built: into the server's package, with relative addresses, so that it works at any path. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./",
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: fileURLToPath(new URL("../server/dist/dashboard", import.meta.url)),
    emptyOutDir: true,
    target: ["chrome123", "firefox120", "safari17.5"],
    // A data: address would break the content security policy, and the polyfill would be an inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: "manifest.json",
  },
});
