/** The programs of a run as plain JavaScript, one file each: a process that is started anew again and again must not compile itself first. */
import { mkdirSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { build } from "tsdown";

const ROOT = join(import.meta.dirname, "..", "..", "..");
/** Below node_modules, so that what is not part of a file is found. */
const CACHE = join(ROOT, "node_modules", ".cache");
const PROGRAMS = ["worker", "first-release-worker", "producer"] as const;

export type Program = (typeof PROGRAMS)[number];

/** Answers the folder that has them; it belongs to the caller. */
export async function bundlePrograms(): Promise<string> {
  mkdirSync(CACHE, { recursive: true });
  const outDir = mkdtempSync(join(CACHE, "jobforge-chaos-"));
  await build({
    config: false,
    cwd: ROOT,
    entry: PROGRAMS.map((program) => join(import.meta.dirname, `${program}.ts`)),
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
