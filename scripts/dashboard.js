/**
 * Builds the dashboard into `packages/server/dist/dashboard`, and writes each text file compressed next to it, so that
 * the server compresses nothing. Runs after the packages are built, because that build empties the server's `dist`.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

const root = fileURLToPath(new URL("../", import.meta.url));
const output = join(root, "packages/server/dist/dashboard");

await build({ configFile: join(root, "packages/dashboard/vite.config.ts") });
for (const entry of readdirSync(output, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (!entry.isFile() || !/\.(html|js|css|svg)$/.test(path)) continue;
  const content = readFileSync(path);
  writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
}
