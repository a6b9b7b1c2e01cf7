/** Reads scenarios from their files. */
import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { type Scenario, scenario } from "./scenario.ts";

const folder = join(import.meta.dirname, "..", "scenarios");

export interface Loaded {
  /** The area of behaviour, which is the name of the folder. */
  readonly area: string;
  /** The path below `scenarios/`, without its extension, such as `retries/dead`. */
  readonly path: string;
  readonly scenario: Scenario;
}

/** Reads a scenario. Throws if it does not have the form of one, and names the place. */
export function readScenario(text: string, path: string): Scenario {
  const read = scenario.safeParse(parse(text));
  if (read.success) return read.data;
  throw new Error(`${path} is not a scenario:\n${z.prettifyError(read.error)}`);
}

export function loadScenarios(): Loaded[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".yaml"),
  );
  return files.sort().map((file) => {
    const path = file.replaceAll(sep, "/").replace(/\.yaml$/, "");
    const [area = ""] = path.split("/");
    return { area, path, scenario: readScenario(readFileSync(join(folder, file), "utf8"), path) };
  });
}
