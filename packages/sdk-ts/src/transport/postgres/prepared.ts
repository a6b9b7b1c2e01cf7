/**
 * Statements that a session has parsed and planned before. A call with one costs the server about a tenth less.
 *
 * A name works only where a connection always leads to the same session. A pooler in transaction mode would send it to
 * a session that does not know it. So only connections of the SDK's own pool use names, and only if the session has the
 * process id that the login has returned: a pooler returns one of its own. If a session does not know a name all the
 * same, the statement is sent again without one, as are all later ones: such an error comes before the statement has
 * done anything.
 */
import { createHash } from "node:crypto";
import type { PgClient, PgQueryResult } from "./pg.ts";
import type { Statement } from "./statement.ts";

/** A connection that makes fewer calls does not ask for its process id. */
const callsBefore = 5;
/** A session keeps each statement, so rare forms of calls get no name. */
const maxNames = 100;
/** The session does not know the name, or knows it for another connection's statement. */
const unknownName = new Set(["26000", "42P05"]);

interface NamedQuery {
  readonly name: string;
  readonly text: string;
  readonly values: (string | null)[];
}

/** What a client of a pool of `pg` also has: it prepares a statement when it first sees its name. */
interface Preparing {
  query(named: NamedQuery): Promise<PgQueryResult>;
  readonly processID?: number | null;
}

type PreparingClient = PgClient & Preparing;

interface Session {
  calls: number;
  isDirect: boolean;
}

export class Prepared {
  readonly #names = new Map<string, string>();
  readonly #sessions = new WeakMap<PreparingClient, Session>();
  #isOff = false;

  /** Runs a statement, with a name if the connection allows it. */
  async run(connection: PgClient, { text, values }: Statement): Promise<PgQueryResult> {
    const client = connection as PreparingClient;
    const name = (await this.#allowsNames(client)) ? this.#nameOf(text) : undefined;
    if (name === undefined) return await client.query(text, [...values]);
    try {
      return await client.query({ name, text, values: [...values] });
    } catch (error) {
      if (!unknownName.has((error as { code?: string }).code ?? "")) throw error;
      this.#isOff = true;
      return await client.query(text, [...values]);
    }
  }

  async #allowsNames(client: PreparingClient): Promise<boolean> {
    if (this.#isOff || typeof client.processID !== "number") return false;
    let session = this.#sessions.get(client);
    if (session === undefined) {
      session = { calls: 0, isDirect: false };
      this.#sessions.set(client, session);
    }
    session.calls += 1;
    if (session.calls === callsBefore) {
      const { rows } = await client.query("select pg_catalog.pg_backend_pid() as pid");
      session.isDirect = (rows as readonly { readonly pid: number }[])[0]?.pid === client.processID;
    }
    return session.isDirect;
  }

  /** The same text has the same name in every process. */
  #nameOf(text: string): string | undefined {
    let name = this.#names.get(text);
    if (name === undefined && this.#names.size < maxNames) {
      name = `jobforge_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
      this.#names.set(text, name);
    }
    return name;
  }
}
