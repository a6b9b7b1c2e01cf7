/** Connections that are refused however often they are tried: what the server, the driver or TLS says, and the fix. */
import { ConnectionError } from "../errors.ts";

/** The server refuses this login or database. */
const codes: ReadonlySet<string> = new Set(["28000", "28P01", "3D000"]);

const urlForm = "as in postgres://user:password@host/database";
const hints: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [
    /password authentication failed/,
    "Check the user name and password in the database URL. Percent-encode special characters in them.",
  ],
  [
    /database ".*" does not exist/,
    "Check the name of the database at the end of the database URL, or create the database.",
  ],
  [/no PostgreSQL user name/, `Write the user name into the database URL, ${urlForm}.`],
  [
    /no pg_hba\.conf entry .*(no encryption|SSL off)/,
    "If the server requires TLS, add ?sslmode=require to the database URL.",
  ],
  [
    /no pg_hba\.conf entry/,
    "The server's pg_hba.conf has no entry for this user, database and address. Check all three, or add an entry.",
  ],
  [/does not support SSL/, "Remove sslmode from the database URL, or enable TLS in the server."],
];

/** Codes of Node for a certificate whose authority it does not know. */
const unknownAuthority = /^(DEPTH_ZERO_)?SELF_SIGNED_CERT|^UNABLE_TO_(VERIFY|GET_ISSUER)/;

/** Returns the error for a connection that was refused; undefined if another reason ended it. */
export function refusedConnection(
  code: string | undefined,
  message: string,
  cause: unknown,
): ConnectionError | undefined {
  const of = (sqlState: string, text: string, hint: string | undefined): ConnectionError =>
    new ConnectionError(text, { code: sqlState, retryable: false, hint, cause });
  if (code !== undefined && codes.has(code)) return of(code, message, hintFor(message));
  // `pg` fails like this when the server asks for a password and the client has none.
  if (/client password must be a (non-empty )?string/.test(message))
    return of(
      "28P01",
      "The password is missing: the database requires one for this user",
      `Write it into the database URL, ${urlForm}, or set PGPASSWORD.`,
    );
  const hint = /does not support SSL/.test(message) ? hintFor(message) : certificateHint(code);
  return hint === undefined ? undefined : of("08000", message, hint);
}

function hintFor(message: string): string | undefined {
  return hints.find(([pattern]) => pattern.test(message))?.[1];
}

function certificateHint(code = ""): string | undefined {
  if (unknownAuthority.test(code))
    return "Name a file with the server's certificate authority: ?sslmode=verify-full&sslrootcert=FILE in the database URL.";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return "Use the host name of the server's certificate in the database URL.";
  return /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/.test(code)
    ? "Renew the server's certificate, or correct this machine's clock."
    : undefined;
}
