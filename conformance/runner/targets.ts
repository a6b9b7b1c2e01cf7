/** The targets of the suite: a program in one language, on one way to the database, and what it can do. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findRedis } from "../../test/redis.ts";
import type { Command } from "./program.ts";
import type { Ability } from "./scenario.ts";
import type { Way } from "./stage.ts";

export type Language = "ts" | "py" | "py-sync";

export interface Target {
  readonly name: string;
  readonly language: Language;
  readonly way: Way;
  readonly abilities: readonly Ability[];
}

const everywhere: readonly Ability[] = ["time-travel"];
const ofPostgres: readonly Ability[] = [
  "schedules",
  "operators",
  "policies",
  "history",
  "steering",
  "sql",
  "workflows",
];
const ofWorkers: readonly Ability[] = ["worker", "processes", "spans"];
const overPostgres: readonly Ability[] = ["listen", "transaction", "outage"];
// The bridge that stands for PostgREST does not survive an outage of its database; our server does.
const ofWay: Readonly<Record<Way, readonly Ability[]>> = {
  postgres: [...ofPostgres, ...overPostgres],
  http: [...ofPostgres, "http"],
  server: [...ofPostgres, "http", "outage"],
  redis: ["outage"],
  // Nothing of a cluster is down for good: a replica takes over.
  "redis-cluster": [],
};
const ofLanguage: Readonly<Record<Language, readonly Ability[]>> = {
  ts: [...ofWorkers, "any-throw"],
  py: ofWorkers,
  "py-sync": [],
};

function target(name: string, language: Language, way: Way): Target {
  return { name, language, way, abilities: [...everywhere, ...ofWay[way], ...ofLanguage[language]] };
}

export const targets = {
  "ts-pg": target("ts-pg", "ts", "postgres"),
  "ts-http": target("ts-http", "ts", "http"),
  "ts-server": target("ts-server", "ts", "server"),
  "ts-redis": target("ts-redis", "ts", "redis"),
  "ts-redis-cluster": target("ts-redis-cluster", "ts", "redis-cluster"),
  "py-pg": target("py-pg", "py", "postgres"),
  "py-http": target("py-http", "py", "http"),
  "py-server": target("py-server", "py", "server"),
  "py-sync-pg": target("py-sync-pg", "py-sync", "postgres"),
  "py-sync-http": target("py-sync-http", "py-sync", "http"),
} as const satisfies Readonly<Record<string, Target>>;

const root = join(import.meta.dirname, "..", "..");
const environment = join(root, "python", ".venv");
const python = join(environment, "bin", "python");
const adapters = join(import.meta.dirname, "..", "adapters");

/** `npm test` installs the environment while the tests begin. */
const installSeconds = 180;

/** Why a target cannot be tested on this machine; undefined if it can. */
export async function missing({
  language,
  way,
}: Pick<Target, "language" | "way">): Promise<string | undefined> {
  if (way.startsWith("redis") && (await findRedis()) === undefined) return "There is no redis-server.";
  if (language === "ts") return undefined;
  // Written when the environment is complete.
  const marker = join(environment, ".jobforge-installed");
  for (let waited = 0; existsSync(environment) && !existsSync(marker); waited += 1) {
    if (waited === installSeconds) return `${environment} is not complete: run python/scripts/test.py`;
    await sleep(1_000);
  }
  return existsSync(marker) ? undefined : `There is no ${environment}: run python/scripts/test.py`;
}

/** How the adapter of a language is started. */
export function commandOf(language: Language): Command {
  const { PATH = "", HOME = "" } = process.env;
  const env = { PATH, HOME, LOG_LEVEL: "debug" };
  if (language === "ts")
    return { command: process.execPath, args: ["--import", "tsx", join(adapters, "ts.ts")], cwd: root, env };
  const args = [join(adapters, "python.py"), ...(language === "py-sync" ? ["--sync"] : [])];
  return { command: python, args, cwd: root, env };
}
