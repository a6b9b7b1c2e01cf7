#!/usr/bin/env node
import { existsSync } from "node:fs";

const main = new URL("../dist/main.js", import.meta.url);
if (!existsSync(main)) {
  console.error("jobforge is not built yet. In a clone run: npm install && npm run build");
  process.exit(1);
}
await import(main.href);
