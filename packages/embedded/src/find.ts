/**
 * Finds the address of the server that runs in a directory, for processes that only want to connect.
 * Starts, stops and writes nothing.
 */

import { addressOf } from "./address.ts";
import { locateExistingData } from "./data-directory.ts";
import { homeOf, readPassword } from "./home.ts";
import { findPostmaster } from "./postmaster.ts";
import type { EmbeddedAddress, EmbeddedOptions } from "./types.ts";

/** Returns the running server of a directory, no matter which process started it, or undefined. */
export function findEmbedded(
  options: Pick<EmbeddedOptions, "directory" | "version"> = {},
): EmbeddedAddress | undefined {
  const home = homeOf(options.directory, options.version ?? 18);
  const data = locateExistingData(home);
  const server = data === undefined ? undefined : findPostmaster(data);
  return server?.ready ? addressOf(server, home.directory, readPassword(home)) : undefined;
}
