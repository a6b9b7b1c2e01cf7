/** Sends a statement as a caller and collects everything that the caller receives. */
import type { TestConnection } from "@jobforge/testing";

export interface Reply {
  /** The SQLSTATE of the error, or 'ok'. */
  readonly code: string;
  /** Rows, or the message, detail, hint and context of the error, and all notices. */
  readonly received: string;
}

/** Everything in an error that a client can read. */
export function textOf(error: unknown): string {
  const { message, detail, hint, where, column, constraint, table } = error as Record<string, unknown>;
  return JSON.stringify([message, detail, hint, where, column, constraint, table]);
}

export function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "unknown";
}

/** Sends one statement. Never throws for an error of the statement. */
export async function send({ client }: TestConnection, text: string): Promise<Reply> {
  const notices: string[] = [];
  const listen = (notice: unknown): void => void notices.push(textOf(notice));
  client.on("notice", listen);
  try {
    const result = await client.query(text);
    const rows = (Array.isArray(result) ? result : [result]).map((each) => each.rows);
    return { code: "ok", received: JSON.stringify([rows, notices]) };
  } catch (error) {
    return { code: codeOf(error), received: `${textOf(error)} ${notices.join()}` };
  } finally {
    client.off("notice", listen);
  }
}
