/** `jobforge doctor`: finds problems and says how to fix them. */
import { DatabaseError, ForbiddenError, NotInstalledError } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import type { Connection } from "../connection.ts";
import type { Check, CheckContext, Finding, Verdict } from "../doctor/check.ts";
import {
  apiSchemaRights,
  bindings,
  drift,
  foreignObjects,
  grants,
  migrations,
  rowSecurity,
  timeTravel,
} from "../doctor/installation.ts";
import { longRuns, maintenance, orphanTypes, partitions, workers } from "../doctor/operation.ts";
import { overdueSchedules } from "../doctor/schedules.ts";
import { clock, listening, notifyQueue, serverVersion, vacuum, xmin } from "../doctor/server.ts";
import { exitCodes } from "../failures.ts";
import type { Output } from "../output/output.ts";
import type { Tone } from "../output/style.ts";
import { plain } from "../output/terminal.ts";
import { count } from "../output/values.ts";

interface DoctorOptions extends CommonOptions {
  readonly strict?: boolean;
}

const checks: readonly Check[] = [
  ...[
    serverVersion,
    migrations,
    drift,
    grants,
    rowSecurity,
    foreignObjects,
    apiSchemaRights,
    bindings,
    timeTravel,
  ],
  ...[listening, notifyQueue, clock, vacuum, xmin, partitions, maintenance, workers, orphanTypes],
  ...[overdueSchedules, longRuns],
];

export function doctorCommand(program: Command, cli: Cli): void {
  onDatabase(
    addCommand(program, "doctor", {
      summary: "Find problems and say how to fix them",
      details: "Exit code 1 if there is a problem.",
      examples: ["jobforge doctor", "jobforge doctor --strict --json"],
    }),
  )
    .option("--strict", "exit code 1 also for warnings")
    .action(action(cli, (options: DoctorOptions) => examine(cli, options)));
}

async function examine(cli: Cli, options: DoctorOptions): Promise<number> {
  return await connected(cli, options, async (connection, output) => {
    const client = await connection.pool.connect();
    try {
      const findings = await findingsOf({ ...connection, client });
      const having = (verdict: Verdict): number => findings.filter((each) => each.verdict === verdict).length;
      const summary = {
        problems: having("problem"),
        warnings: having("warning"),
        skipped: having("skipped"),
      };
      output.result({ healthy: summary.problems === 0, ...summary, checks: findings }, () =>
        describe(output, findings, summary),
      );
      const bad = summary.problems + (options.strict ? summary.warnings : 0);
      return bad === 0 ? exitCodes.ok : exitCodes.failed;
    } finally {
      client.release();
    }
  });
}

async function findingsOf(connection: Connection & Pick<CheckContext, "client">): Promise<Finding[]> {
  const findings: Finding[] = [{ name: "connection", verdict: "ok", message: "The database responds." }];
  const known = await knownTo(connection);
  if (known === "not installed") {
    const advice = "Run jobforge migrate. If JobForge is in another schema, pass --api-schema.";
    return [
      ...findings,
      {
        name: "migrations",
        verdict: "problem",
        message: "JobForge is not installed in this database, or its version is older.",
        advice,
      },
    ];
  }
  findings.push(...brokenFunctions(known));
  for (const check of checks) {
    findings.push({ name: check.name, ...(await check.run({ ...connection, ...known }).catch(failed)) });
  }
  return findings;
}

/** A check that fails reports why. The other checks still run. */
function failed(error: unknown): Omit<Finding, "name"> {
  const message = error instanceof Error ? error.message : String(error);
  return { verdict: "problem", message: `The check failed: ${message}`, advice: "See the message." };
}

interface Known extends Pick<CheckContext, "health" | "types" | "workers"> {
  /** What the database said when a function of JobForge failed. */
  readonly broken: readonly string[];
}

/** Reads the reports of the database. Without one, because of a right or of an error, the other checks still run. */
async function knownTo({ forge }: Connection): Promise<Known | "not installed"> {
  const broken: string[] = [];
  const read = async <T>(report: () => Promise<T>, none: T): Promise<T> => {
    try {
      return await report();
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      broken.push(error.message);
      return none;
    }
  };
  try {
    const health = await read(async () => await forge.installation.health(), undefined);
    const types = await read(() => forge.types.list(), []);
    return { health, types, workers: await read(() => forge.workers.list(), []), broken };
  } catch (error) {
    if (error instanceof ForbiddenError) return { health: undefined, types: [], workers: [], broken };
    if (error instanceof NotInstalledError) return "not installed";
    throw error;
  }
}

/** Functions that a person has changed may fail. The check of the drift then names them. */
function brokenFunctions({ broken }: Known): Finding[] {
  if (broken.length === 0) return [];
  const message = `Functions of JobForge fail: ${[...new Set(broken)].join("; ")}`;
  return [
    { name: "functions", verdict: "problem", message, advice: "Look at the checks migrations and drift." },
  ];
}

const marks: Readonly<Record<Verdict, readonly [mark: string, tone: Tone]>> = {
  ok: ["✓", "green"],
  warning: ["!", "yellow"],
  problem: ["✗", "red"],
  skipped: ["-", "gray"],
};

function describe(
  output: Output,
  findings: readonly Finding[],
  { problems, warnings, skipped }: Readonly<Record<"problems" | "warnings" | "skipped", number>>,
): string {
  const lines = findings.flatMap(({ name, verdict, message, advice }) => {
    const [mark, tone] = marks[verdict];
    const line = `${output.style(tone, mark)} ${name.padEnd(16)} ${plain(message)}`;
    return advice === undefined || verdict === "ok"
      ? [line]
      : [line, `  ${"".padEnd(16)} → ${output.typed(plain(advice))}`];
  });
  const verdict = `${count(problems, "problem")}, ${count(warnings, "warning")}, ${skipped} skipped`;
  return `${lines.join("\n")}\n\n${output.style(problems > 0 ? "red" : "green", verdict)}\n`;
}
