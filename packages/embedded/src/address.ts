/** Builds URLs. Messages contain only the form without a password. */

import type { EmbeddedAddress } from "./types.ts";

const superuser = "postgres";

export function addressOf(
  server: { pid: number; port: number },
  directory: string,
  password: string,
): EmbeddedAddress {
  const { pid, port } = server;
  const urlFor = (database: string): string =>
    `postgres://${superuser}:${encodeURIComponent(password)}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
  return { url: urlFor("postgres"), urlFor, port, pid, directory };
}

export function urlWithoutPassword(port: number): string {
  return `postgres://${superuser}@127.0.0.1:${port}/postgres`;
}
