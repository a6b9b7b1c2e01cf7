/** Checks a database URL before it is used. No message contains any part of the URL, which has a password. */
import { InvalidArgumentError } from "../../errors.ts";

const encodeHint =
  "Percent-encode the characters of the user name and password, for example with encodeURIComponent: @ is %40, # is " +
  "%23, / is %2F, ? is %3F.";

/** Throws if the text cannot be meant as the URL of a Postgres database. Paths of sockets are accepted. */
export function checkDatabaseUrl(text: string): void {
  if (text.trim() === "") refuse("must be a URL, a pg.Pool or a pg.Client", "Set DATABASE_URL.");
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text) ?? [];
  if (scheme === undefined) {
    if (/^jdbc:/i.test(text)) refuse("must begin with postgres://, not with jdbc:", 'Remove "jdbc:".');
    if (/(^|\s)(host|hostaddr|dbname)\s*=/.test(text))
      refuse("must be a URL, not a list of keywords", "Write postgres://user:password@host:5432/database.");
    return;
  }
  if (/^https?$/i.test(scheme))
    refuse(
      `must begin with postgres://, not with ${scheme.toLowerCase()}://`,
      "To call a JobForge server over HTTP, pass { url, token } instead.",
    );
  if (!/^(postgres|postgresql|pg|socket)$/i.test(scheme))
    refuse(
      `must begin with postgres://, not with ${scheme}://`,
      "Write postgres://user:password@host:5432/database.",
    );
  if (/^postgres/i.test(scheme) && isMisread(text)) refuse("is not a valid URL", encodeHint);
}

/**
 * Whether a character of the password ends the host too early: the rest then is not a URL, or the path has an `@`. A
 * URL without a host is valid for Postgres.
 */
function isMisread(text: string): boolean {
  const readable = URL.canParse(text) ? text : text.replace(/@(?=\/)|(?<=^\w+:\/\/)(?=\/)/, "@localhost");
  return !URL.canParse(readable) || new URL(readable).pathname.includes("@");
}

function refuse(message: string, hint: string): never {
  throw new InvalidArgumentError(`Invalid argument: database ${message}`, { field: "database", hint });
}
