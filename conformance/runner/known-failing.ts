/** Scenarios that a target is known to fail. The lists are empty; an entry that passes fails the run. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The paths in a list, without empty lines and comments. */
export function readList(text: string): ReadonlySet<string> {
  const lines = text.split("\n").map((line) => line.replace(/#.*/, "").trim());
  return new Set(lines.filter((line) => line !== ""));
}

export function knownFailing(target: string): ReadonlySet<string> {
  const file = join(import.meta.dirname, "..", "known-failing", `${target}.txt`);
  return existsSync(file) ? readList(readFileSync(file, "utf8")) : new Set();
}

/** Runs a scenario that is known to fail. Rejects if it passes. */
export async function expectFailure(path: string, run: () => Promise<void>): Promise<void> {
  const failed = await run().then(
    () => false,
    () => true,
  );
  if (!failed) throw new Error(`${path} passes now: remove it from the list of known failures`);
}
