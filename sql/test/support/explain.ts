/** The plans of statements inside functions, reported by auto_explain, which is part of Postgres. */
import type { TestConnection } from "@jobforge/testing";

/** A node of a plan as `explain (analyze, verbose, buffers, format json)` writes it, with the fields that tests use. */
export interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly Schema?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly PlanNode[];
}

/** One statement that ran, inside a function or not. */
export interface Statement {
  readonly text: string;
  readonly plan: PlanNode;
}

export interface Explained<Row> {
  readonly rows: Row[];
  /** Every statement that ran with a plan, innermost first. The call itself is the last. */
  readonly statements: readonly Statement[];
}

export interface ExplainingSession {
  /** Runs a statement. Returns its rows and the statements that ran inside. */
  run<Row extends Record<string, unknown>>(sql: string, values?: readonly unknown[]): Promise<Explained<Row>>;
}

/**
 * Makes a superuser's session report the plan of every statement, including those inside functions. The plans arrive as
 * notices, in order, before the result.
 */
export async function explainEverything(session: TestConnection): Promise<ExplainingSession> {
  let statements: Statement[] = [];
  session.client.on("notice", ({ message = "" }) => {
    const json = /^duration: .*? plan:\n(.*)$/s.exec(message)?.[1];
    if (json === undefined) return;
    const report = JSON.parse(json) as { "Query Text": string; Plan: PlanNode };
    statements.push({ text: report["Query Text"], plan: report.Plan });
  });
  await session.query("load 'auto_explain'");
  const settings = {
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_buffers": "on",
    "auto_explain.log_verbose": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
    "auto_explain.log_min_duration": "0",
    client_min_messages: "log",
    // The plans are only for the client.
    log_min_messages: "panic",
  };
  for (const [name, value] of Object.entries(settings)) await session.query(`set ${name} = '${value}'`);
  return {
    run: async <Row extends Record<string, unknown>>(sql: string, values: readonly unknown[] = []) => {
      statements = [];
      const rows = await session.query<Row>(sql, values);
      return { rows, statements };
    },
  };
}

/** Returns all nodes of a plan. */
export function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Returns the buffers that a call touched, taken from its outermost statement. */
export function buffersOf({ statements }: Explained<unknown>): number {
  const plan = statements.at(-1)?.plan;
  if (plan === undefined) throw new Error("no plan was reported");
  return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
}

/** Returns how many rows of a table the scans of all statements visited, including rows that a filter removed. */
export function rowsVisited({ statements }: Explained<unknown>, table: string): number {
  const scans = statements
    .flatMap(({ plan }) => nodesOf(plan))
    .filter((node) => node["Node Type"].endsWith("Scan") && node["Relation Name"] === table);
  return scans.reduce((sum, node) => {
    const left = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
    return sum + (node["Actual Rows"] + left) * node["Actual Loops"];
  }, 0);
}
