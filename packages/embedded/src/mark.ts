/** Guarantees that data created by this package can be distinguished from any other data. */

import { join } from "node:path";
import { readJson, replaceFile } from "./files.ts";
import type { Home } from "./home.ts";
import type { ServerUser } from "./server-user.ts";

const markFile = "jobforge-embedded.json";
const creator = "@jobforge/embedded";

export interface Mark {
  /** The directory the data was created for. */
  readonly home: string;
}

/** Writes the mark. It is written again when the directory was moved, to record its new path. */
export function writeMark(dataDirectory: string, home: Home, owner: ServerUser): void {
  const mark = { createdBy: creator, version: home.version, home: home.path };
  replaceFile(join(dataDirectory, markFile), `${JSON.stringify(mark)}\n`, { mode: 0o600, owner });
}

export function readMark(dataDirectory: string): Mark | undefined {
  const { createdBy, home } = readJson(join(dataDirectory, markFile)) ?? {};
  return createdBy === creator && typeof home === "string" ? { home } : undefined;
}
