/** Bundles the programs of a run as plain JavaScript, one file each, so that processes start without compiling. */
import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { build } from "tsdown";

const root = join(import.meta.dirname, "..", "..", "..");
/** Inside node_modules, so that the programs find packages that are not bundled. */
const cache = join(root, "node_modules", ".cache");
const programs = ["worker", "first-release-worker", "producer"] as const;

export type Program = (typeof programs)[number];

/** Returns the folder of the bundles. The caller must remove it. */
export async function bundlePrograms(): Promise<string> {
  mkdirSync(cache, { recursive: true });
  const outDir = mkdtempSync(join(cache, "jobforge-chaos-"));
  await build({
    config: false,
    cwd: root,
    entry: programs.map((program) => join(import.meta.dirname, `${program}.ts`)),
    outDir,
    format: "esm",
    platform: "node",
    target: "node20.19",
    fixedExtension: true,
    dts: false,
    logLevel: "silent",
    external: ["pg"],
    noExternal: [/^@jobforge\//, /^@opentelemetry\//],
  });
  return outDir;
}
