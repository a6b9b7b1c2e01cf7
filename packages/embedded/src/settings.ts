/**
 * Guarantees that the server listens on 127.0.0.1 only, has no Unix socket, and that callers' settings
 * cannot change that. fsync stays on unless a caller turns it off.
 */

import { EmbeddedPostgresError } from "./errors.ts";

/** For a laptop: many test pools at once, quiet log, no surprise from compiling queries. */
const defaults: Readonly<Record<string, string>> = {
  jit: "off",
  log_checkpoints: "off",
  max_connections: "200",
};

/** Names that would move the server away from where this package looks for it. */
const reserved: ReadonlySet<string> = new Set([
  "config_file",
  "data_directory",
  "external_pid_file",
  "hba_file",
  "ident_file",
  "listen_addresses",
  "port",
  "unix_socket_directories",
]);

export function checkSettings(settings: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(settings)) {
    if (reserved.has(name.toLowerCase())) {
      throw new EmbeddedPostgresError(
        "invalid_option",
        `The setting "${name}" is managed by JobForge.`,
        name === "port" ? "Use the option `port`." : "Leave it out, or run your own PostgreSQL.",
      );
    }
    if (!/^[a-z_][a-z0-9_.]*$/i.test(name) || /[\0\n\r]/.test(value)) {
      throw new EmbeddedPostgresError(
        "invalid_option",
        `The setting "${name}" is not a name and a one-line value.`,
        "Pass settings as { name: value }, such as { work_mem: '64MB' }.",
      );
    }
  }
}

/** The whole command line after the program. Sorted, so that equal settings give equal lines. */
export function serverArguments(
  dataDirectory: string,
  port: number,
  settings: Readonly<Record<string, string>>,
): string[] {
  const all = {
    ...defaults,
    ...settings,
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
  };
  const pairs = Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1));
  return ["-D", dataDirectory, ...pairs.flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}
