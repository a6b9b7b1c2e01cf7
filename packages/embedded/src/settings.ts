/**
 * Guarantees that the server listens on 127.0.0.1 only and has no Unix socket, and that settings of callers cannot
 * change that. fsync stays on unless a caller turns it off.
 */

import { EmbeddedPostgresError } from "./errors.ts";

/** Defaults for a laptop: many test pools at once, a quiet log, no delays by compiling queries. */
const defaults: Readonly<Record<string, string>> = {
  jit: "off",
  log_checkpoints: "off",
  max_connections: "200",
};

/** Settings that would move the server away from where this package looks for it. */
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
        name === "port" ? "Use the option `port`." : "Omit it, or run your own PostgreSQL.",
      );
    }
    if (!/^[a-z_][a-z0-9_.]*$/i.test(name) || /[\0\n\r]/.test(value)) {
      throw new EmbeddedPostgresError(
        "invalid_option",
        `The setting "${name}" is invalid: it needs a valid name and a value of one line.`,
        "Pass settings as { name: value }, such as { work_mem: '64MB' }.",
      );
    }
  }
}

/** Returns the arguments of the server. They are sorted, so that equal settings give equal command lines. */
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
